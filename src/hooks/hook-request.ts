/** Says what an httpGet hook sends and where to, from the hook and the container it belongs to. */
import { type Container, goQuote, type HTTPGetAction } from '../kube/index.js';

/** How hooks introduce themselves to servers, by the Kubernetes version that they behave as. */
const userAgent = 'kube-lifecycle/1.36';

export interface HookRequest {
  readonly url: URL;
  /** Names as the hook writes them; the values of one name in their order. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
}

/** `podIp` is used when the hook names no host. */
export function hookRequest(action: HTTPGetAction, container: Container, podIp: string): HookRequest {
  return {
    url: hookUrl(action, container, action.host || podIp),
    headers: hookHeaders(action),
  };
}

/** The path may bring a query along; what it says about a host is not followed. */
function hookUrl(action: HTTPGetAction, container: Container, host: string): URL {
  const scheme = action.scheme === undefined || action.scheme === '' ? 'http' : action.scheme.toLowerCase();
  const port = hookPort(action.port, container);
  const base = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const { pathname, search } = new URL(action.path ?? '', `${base}/`);
  return new URL(`${pathname}${search}`, base);
}

/** A number, a number as text, or the name of one of the container's ports. */
export function hookPort(port: HTTPGetAction['port'], container: Container): number {
  if (typeof port === 'number') return port;
  if (/^\d+$/.test(port)) return Number(port);
  const named = container.ports?.find(({ name }) => name === port);
  if (named === undefined) {
    throw new Error(`couldn't find port: ${port} in container ${goQuote(container.name)}`);
  }
  return named.containerPort;
}

function hookHeaders({ httpHeaders = [] }: HTTPGetAction): Map<string, readonly string[]> {
  const headers = new Map<string, string[]>();
  for (const { name, value } of httpHeaders) {
    const known = [...headers.keys()].find((key) => key.toLowerCase() === name.toLowerCase()) ?? name;
    headers.set(known, [...(headers.get(known) ?? []), value ?? '']);
  }
  const find = (wanted: string): string | undefined =>
    [...headers.keys()].find((key) => key.toLowerCase() === wanted);
  if (find('user-agent') === undefined) headers.set('User-Agent', [userAgent]);
  const accept = find('accept');
  if (accept === undefined) headers.set('Accept', ['*/*']);
  else if (headers.get(accept)?.[0] === '') headers.delete(accept);
  return headers;
}

/** What is sent over plain HTTP where HTTPS was wanted: the same, but nobody on the way may learn the credentials. */
export function plainRequest({ url, headers }: HookRequest): HookRequest {
  const plain = new URL(url);
  // Setting the scheme would drop a port that is the default of the new one.
  const host = url.port === '' ? `${url.hostname}:443` : url.host;
  plain.protocol = 'http:';
  return {
    url: new URL(`http://${host}${plain.pathname}${plain.search}`),
    headers: new Map([...headers].filter(([name]) => name.toLowerCase() !== 'authorization')),
  };
}
