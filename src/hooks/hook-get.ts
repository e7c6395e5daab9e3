/** Sends the GET of a hook: any answer is good, and no connection outlives it. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { errorText } from '../async/index.js';
import { goQuote } from '../kube/index.js';
import type { HookRequest } from './hook-request.js';

const maxRedirects = 10;

/** The server speaks HTTP where HTTPS was expected. */
export class PlainHttpAnswer extends Error {
  override readonly name = 'PlainHttpAnswer';
}

/** Resolves once a server has answered, whatever the status; redirects are followed on the same host alone. */
export async function hookGet(request: HookRequest, signal: AbortSignal | undefined): Promise<void> {
  let url = request.url;
  for (let redirects = 0; ; redirects++) {
    const location = await getOnce(url, request, signal);
    if (location === undefined) return;
    const next = new URL(location, url);
    if (next.hostname !== request.url.hostname) return;
    if (redirects + 1 >= maxRedirects) {
      throw new Error(`Get ${goQuote(location)}: stopped after ${maxRedirects} redirects`);
    }
    url = next;
  }
}

/** Where the server sends the client on to, if it does. */
function getOnce(
  url: URL,
  { headers }: HookRequest,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const outgoing = send(url, {
      headers: Object.fromEntries([...headers].map(([name, values]) => [name, single(name, values)])),
      // One connection for one hook, closed with it; a container's own certificate is good enough for its hook.
      agent: false,
      rejectUnauthorized: false,
      ...(signal === undefined ? {} : { signal }),
    });
    outgoing.on('error', (error) => reject(getError(url, error)));
    outgoing.on('response', (response) => {
      resolve(redirection(response));
      response.destroy();
    });
    outgoing.end();
  });
}

/** Of the headers that may stand only once, Node takes text alone. */
function single(name: string, values: readonly string[]): string | string[] {
  return name.toLowerCase() === 'host' ? (values.at(0) ?? '') : [...values];
}

function redirection({ statusCode = 0, headers }: IncomingMessage): string | undefined {
  return [301, 302, 303, 307, 308].includes(statusCode) ? headers.location : undefined;
}

const connectProblems: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['EHOSTUNREACH', 'no route to host'],
  ['ENETUNREACH', 'network is unreachable'],
  ['ETIMEDOUT', 'connection timed out'],
]);

function getError(url: URL, error: Error & { code?: string }): Error {
  if (isPlainHttp(error)) {
    return new PlainHttpAnswer(`Get ${goQuote(url.href)}: http: server gave HTTP response to HTTPS client`, {
      cause: error,
    });
  }
  const { code = '' } = error;
  const problem = connectProblems.get(code);
  const text =
    problem === undefined
      ? code === 'ECONNRESET'
        ? 'EOF'
        : errorText(error)
      : `dial tcp ${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}: connect: ${problem}`;
  return new Error(`Get ${goQuote(url.href)}: ${text}`, { cause: error });
}

/** The first bytes of an HTTP answer, read as a TLS record, have an impossible version or length. */
function isPlainHttp({ code, message }: Error & { code?: string }): boolean {
  const isTls = code === 'EPROTO' || code?.startsWith('ERR_SSL_') === true;
  return isTls && /wrong version number|packet length too long|http request/i.test(message);
}
