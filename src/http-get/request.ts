/** Builds the request of an httpGet action: its URL and headers. */
import { isIPv6 } from 'node:net';
import type { Container, HTTPGetAction } from '../kube/index.js';
import type { HttpGetRequest, HttpUrl } from './contracts.js';
import { containerPort } from './port.js';

export interface HttpGetTarget {
  readonly container: Container;
  /** The host to use when the action names none. */
  readonly podIp: string;
  readonly userAgent: string;
}

/** Throws if the action's port is invalid. */
export function httpGetRequest(
  action: HTTPGetAction,
  { container, podIp, userAgent }: HttpGetTarget,
): HttpGetRequest {
  const url: HttpUrl = {
    scheme: (action.scheme || 'http').toLowerCase(),
    hostname: action.host || podIp,
    port: containerPort(action.port, container),
    target: requestTarget(action.path ?? ''),
  };
  return { url, ...requestHeaders(action, userAgent) };
}

export function httpUrlOf(url: URL): HttpUrl {
  return {
    scheme: url.protocol.slice(0, -1),
    hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? undefined : Number(url.port),
    target: `${url.pathname || '/'}${url.search}`,
  };
}

/** `http://[::1]:80/path?query` */
export function formatUrl(url: HttpUrl): string {
  return `${url.scheme}://${formatHost(url)}${url.target}`;
}

/** `10.0.0.1:80`, `[::1]:80`, or the host alone if there is no port. */
export function formatHost({ hostname, port }: Pick<HttpUrl, 'hostname' | 'port'>): string {
  const host = isIPv6(hostname) ? `[${hostname}]` : hostname;
  return port === undefined ? host : `${host}:${port}`;
}

/** Parses the path as a URL reference and returns its path and query. An invalid one is sent unchanged. */
function requestTarget(path: string): string {
  const reference = path.split('#', 1)[0] ?? '';
  const [, afterHost = reference] = /^(?:[A-Za-z][A-Za-z0-9+.-]*:)?\/\/[^/?]*(.*)$/s.exec(reference) ?? [];
  const at = afterHost.indexOf('?');
  const pathPart = at < 0 ? afterHost : afterHost.slice(0, at);
  const isReference = !hasControls(path) && /^(?:[^%]|%[0-9a-f]{2})*$/i.test(pathPart);
  if (!isReference) return withSlash(escapeText(path, /[A-Za-z0-9\-_.~$&+,/:;=@]/));
  const query = at < 0 ? '' : `?${escapeText(afterHost.slice(at + 1), /[!-~]/)}`;
  return `${withSlash(escapeText(pathPart, /[A-Za-z0-9\-_.~$&+,/:;=@!'()*[\]%]/))}${query}`;
}

function withSlash(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

export function hasControls(text: string): boolean {
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

function escapeText(text: string, kept: RegExp): string {
  let escaped = '';
  for (const character of text) {
    escaped += kept.test(character)
      ? character
      : [...Buffer.from(character, 'utf8')]
          .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
          .join('');
  }
  return escaped;
}

/** Headers of the connection or the message framing, which an action cannot set. */
const ownHeaders = new Set(['Content-Length', 'Transfer-Encoding', 'Trailer']);

/** `User-Agent` and `Accept` have defaults; an empty value omits the header. */
function requestHeaders(
  { httpHeaders = [] }: HTTPGetAction,
  userAgent: string,
): Pick<HttpGetRequest, 'hostHeader' | 'headers'> {
  const given = new Map<string, string[]>();
  for (const { name, value } of httpHeaders) {
    const canonical = canonicalHeaderName(name);
    given.set(canonical, [...(given.get(canonical) ?? []), value ?? '']);
  }
  const hostHeader = given.get('Host')?.[0] || undefined;
  const agent = given.has('User-Agent') ? (given.get('User-Agent')?.[0] ?? '') : userAgent;
  if (!given.has('Accept')) given.set('Accept', ['*/*']);
  else if (given.get('Accept')?.[0] === '') given.delete('Accept');
  given.delete('Host');
  given.delete('User-Agent');
  const isUpgrade = given.has('Upgrade') && given.get('Connection')?.some((value) => /upgrade/i.test(value));
  // Each request has its own connection, whatever the action asks for.
  if (!isUpgrade) given.delete('Connection');

  const headers: [string, string][] = agent === '' ? [] : [['User-Agent', agent]];
  for (const name of [...given.keys()].sort()) {
    if (ownHeaders.has(name)) continue;
    for (const value of given.get(name) ?? []) headers.push([name, value]);
  }
  if (!isUpgrade) headers.push(['Connection', 'close']);
  return { hostHeader, headers };
}

/** `x-my-header` becomes `X-My-Header`; an invalid name stays unchanged. */
function canonicalHeaderName(name: string): string {
  if (!isHeaderName(name)) return name;
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}

/** Node writes header values as Latin-1; decoded as Latin-1, UTF-8 bytes reach the server unchanged. */
export function headerText(value: string): string {
  return Buffer.from(value, 'utf8').toString('latin1');
}

export function isHeaderName(text: string): boolean {
  return /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(text);
}
