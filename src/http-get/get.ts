/** Sends a GET to a container, each on a connection of its own that closes with the response. */
import { type IncomingMessage, request as requestHttp1 } from 'node:http';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { Cancelled } from '../async/index.js';
import { goQuote } from '../kube/index.js';
import {
  type HttpAnswer,
  HttpGetError,
  type HttpGetRequest,
  type HttpLimits,
  type HttpUrl,
  PlainHttpAnswer,
} from './contracts.js';
import { httpGetLimits } from './limits.js';
import { networkErrorText, plainHttpText, type SocketAddresses } from './network-errors.js';
import { isRedirect, redirectedRequest } from './redirects.js';
import { formatHost, formatUrl, hasControls, isHeaderName } from './request.js';

export const maxBodyBytes = httpGetLimits.bodyBytes;

/** The stage of a request, and how to end it. */
interface Flight {
  stage: 'dial' | 'headers' | 'body';
  addresses: SocketAddresses;
  end: (error: Error) => void;
  readonly ignoresBody: boolean;
}

/** A response with what decides whether to follow a redirect. */
export interface HttpExchange extends HttpAnswer {
  readonly location: string | undefined;
}

/** Follows redirects on the same host. One timeout covers all requests. */
export function httpGet(request: HttpGetRequest, limits: HttpLimits): Promise<HttpAnswer> {
  const { clock, timeoutMs, signal, ignoresBody = false } = limits;
  if (signal?.aborted) return Promise.reject(new Cancelled());
  const flight: Flight = { stage: 'dial', addresses: {}, end: () => {}, ignoresBody };
  let url = request.url;
  const onAbort = (): void => flight.end(new Cancelled());
  const timer =
    timeoutMs === undefined
      ? undefined
      : clock.setTimer(timeoutMs, () => flight.end(timeoutError(flight.stage, url)));
  signal?.addEventListener('abort', onAbort, { once: true });
  const follow = async (): Promise<HttpAnswer> => {
    let current = request;
    for (let hops = 1; ; hops++) {
      url = current.url;
      const { location, ...answer } = await exchange(current, flight);
      const next = location === undefined ? undefined : redirectedRequest(request, current, location, hops);
      if (next === undefined) return answer;
      current = next;
    }
  };
  return follow().finally(() => {
    timer?.cancel();
    signal?.removeEventListener('abort', onAbort);
  });
}

function timeoutError(stage: Flight['stage'], url: HttpUrl): Error {
  switch (stage) {
    case 'dial':
      return new HttpGetError(
        `Get ${goQuote(formatUrl(url))}: dial tcp ${formatHost(url)}: i/o timeout (Client.Timeout exceeded while awaiting headers)`,
      );
    case 'headers':
      return new HttpGetError(
        `Get ${goQuote(formatUrl(url))}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
      );
    case 'body':
      return new Error(
        'context deadline exceeded (Client.Timeout or context cancellation while reading body)',
      );
  }
}

/** One request on one connection. */
function exchange(request: HttpGetRequest, flight: Flight): Promise<HttpExchange> {
  const { url } = request;
  flight.stage = 'dial';
  return new Promise<HttpExchange>((resolve, reject) => {
    let socket: Socket | undefined;
    let isOver = false;
    const end = (settle: () => void): void => {
      isOver = true;
      settle();
      socket?.destroy();
    };
    flight.end = (error) => end(() => reject(error));
    const done = (answer: HttpExchange): void => end(() => resolve(answer));
    // A socket may report errors after the exchange is over, when the flight already serves the next request.
    const fail = (error: unknown): void => {
      if (!isOver) end(() => reject(failure(error, url, flight)));
    };
    const connected = (connection: Socket): void => {
      socket = connection;
      watch(socket, flight, fail);
    };
    try {
      checkHeaders(request);
      switch (url.scheme) {
        case 'http': {
          const plain = connectTcp({ host: url.hostname || '127.0.0.1', port: url.port ?? 80 });
          connected(plain);
          sendHttp1(request, plain, flight, done, fail);
          break;
        }
        case 'https':
          // Loaded on first use.
          Promise.all([import('node:tls'), import('./http2.js')]).then(([tls, { sendHttp2 }]) => {
            if (isOver) return;
            const secure = tls.connect(tlsOptions(url));
            connected(secure);
            secure.once('secureConnect', () => {
              if (secure.alpnProtocol === 'h2') {
                const atBody = (): void => {
                  flight.stage = 'body';
                };
                sendHttp2(request, secure, flight.ignoresBody ? 0 : maxBodyBytes, atBody).then(done, fail);
              } else sendHttp1(request, secure, flight, done, fail);
            });
          }, fail);
          break;
        default:
          fail(new Error(`unsupported protocol scheme ${goQuote(url.scheme)}`));
      }
    } catch (error) {
      fail(error);
    }
  });
}

/** Node throws on invalid headers at a point where nothing could catch it. */
function checkHeaders({ hostHeader = '', headers }: HttpGetRequest): void {
  for (const [name, value] of headers) {
    if (!isHeaderName(name)) throw new Error(`net/http: invalid header field name ${goQuote(name)}`);
    if (hasControls(value.replaceAll('\t', ''))) {
      throw new Error(`net/http: invalid header field value for ${goQuote(name)}`);
    }
  }
  if (hasControls(hostHeader)) throw new Error('http: invalid Host header');
}

function failure(error: unknown, url: HttpUrl, { stage, addresses }: Flight): Error {
  if (stage === 'body') return new Error(bodyErrorText(error), { cause: error });
  const text = networkErrorText(error, formatHost(url), addresses);
  const Kind = text === plainHttpText ? PlainHttpAnswer : HttpGetError;
  return new Kind(`Get ${goQuote(formatUrl(url))}: ${text}`, { cause: error });
}

function watch(socket: Socket, flight: Flight, fail: (error: unknown) => void): void {
  socket.setNoDelay(true);
  socket.once('connect', () => {
    const { localAddress, localPort, remoteAddress, remotePort } = socket;
    flight.addresses = { localAddress, localPort, remoteAddress, remotePort };
    flight.stage = 'headers';
  });
  // Errors after the response change nothing, but an error without a listener would end the process.
  socket.on('error', fail);
}

function tlsOptions({ hostname, port = 443 }: HttpUrl): ConnectionOptions {
  const host = hostname || '127.0.0.1';
  return {
    host,
    port,
    // A probe checks that the container responds, not its identity.
    rejectUnauthorized: false,
    ALPNProtocols: ['h2', 'http/1.1'],
    ...(isIP(host) === 0 ? { servername: host } : {}),
  };
}

function sendHttp1(
  { url, hostHeader, headers }: HttpGetRequest,
  socket: Socket,
  flight: Flight,
  done: (answer: HttpExchange) => void,
  fail: (error: unknown) => void,
): void {
  const sent = ['Host', hostHeader ?? formatHost(url)];
  // Node writes header values as Latin-1; decoded as Latin-1, UTF-8 bytes reach the server unchanged.
  for (const [name, value] of headers) sent.push(name, Buffer.from(value, 'utf8').toString('latin1'));
  const outgoing = requestHttp1({
    method: 'GET',
    path: url.target,
    headers: sent,
    maxHeaderSize: httpGetLimits.headersBytes,
    createConnection: () => socket,
  });
  outgoing.on('error', fail);
  outgoing.on('upgrade', (response) => done({ ...headOf(response), body: '' }));
  outgoing.on('response', (response) => {
    flight.stage = 'body';
    if (flight.ignoresBody) done({ ...headOf(response), body: '' });
    else readBody(response, (body) => done({ ...headOf(response), body }), fail);
  });
  outgoing.end();
}

function headOf({ statusCode = 0, headers }: IncomingMessage): Omit<HttpExchange, 'body'> {
  return { status: statusCode, location: isRedirect(statusCode) ? headers.location : undefined };
}

function readBody(
  response: IncomingMessage,
  done: (body: string) => void,
  fail: (error: unknown) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const finish = (): void => done(Buffer.concat(chunks).subarray(0, maxBodyBytes).toString('utf8'));
  response.on('error', fail);
  response.on('data', (chunk: Buffer) => {
    if (size >= maxBodyBytes) return;
    chunks.push(chunk);
    size += chunk.length;
    if (size >= maxBodyBytes) finish();
  });
  response.on('end', finish);
}

function bodyErrorText(error: unknown): string {
  const { code, message } = error instanceof Error ? (error as NodeJS.ErrnoException) : { message: '' };
  return code === 'ECONNRESET' ? 'unexpected EOF' : message;
}
