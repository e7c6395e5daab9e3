/** One GET on a connection of its own, which closes with the response. */
import { type IncomingMessage, request as requestHttp1 } from 'node:http';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { goQuote } from '../kube/index.js';
import { emptyBody, readBody } from './body.js';
import type {
  BodyRule,
  GetRules,
  GetStage,
  HttpGetRequest,
  HttpResponse,
  HttpUrl,
  SocketAddresses,
} from './contracts.js';
import { httpGetLimits } from './limits.js';
import { isRedirect } from './redirects.js';
import { formatHost, hasControls, headerText, isHeaderName } from './request.js';

/** The stage of a GET, and how to end it. One serves all requests of a GET. */
export interface GetProgress {
  stage: GetStage;
  addresses: SocketAddresses;
  end: (error: Error) => void;
}

/** A response with what decides whether to follow a redirect. */
export interface HttpExchange extends HttpResponse {
  readonly location: string | undefined;
}

/** What the two versions of HTTP need to send a request and to report its outcome. */
export interface SentExchange {
  readonly request: HttpGetRequest;
  readonly socket: Socket;
  readonly body: BodyRule;
  /** The headers have arrived. */
  readonly atBody: () => void;
  readonly done: (response: HttpExchange) => void;
  readonly fail: (error: unknown) => void;
}

export function exchange(
  request: HttpGetRequest,
  rules: GetRules,
  flight: GetProgress,
): Promise<HttpExchange> {
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
    const done = (response: HttpExchange): void => end(() => resolve(response));
    // A socket may report errors after the exchange is over, when the flight already serves the next request.
    const fail = (error: unknown): void => {
      if (isOver) return;
      const { stage, addresses } = flight;
      end(() => reject(rules.failure({ kind: 'error', url, stage, addresses, error })));
    };
    const atBody = (): void => {
      flight.stage = 'body';
    };
    const connected = (connection: Socket): SentExchange => {
      socket = connection;
      watch(connection, flight, fail);
      return { request, socket: connection, body: rules.body, atBody, done, fail };
    };
    const names = rules.lookup === undefined ? {} : { lookup: rules.lookup(() => !isOver) };
    try {
      checkHeaders(request);
      switch (url.scheme) {
        case 'http': {
          const dial = (): SentExchange =>
            connected(connectTcp({ ...names, host: hostOf(url), port: url.port ?? 80 }));
          if (rules.plainProtocol !== 'h2') sendHttp1(dial());
          else sendPlainHttp2(dial, () => isOver).catch(fail);
          break;
        }
        case 'https':
          prepareTls(url, rules)
            .then(({ tls, options, sendHttp2 }) => {
              if (isOver) return;
              const secure = tls.connect({ ...options, ...names });
              const sent = connected(secure);
              secure.once('secureConnect', () => {
                const isHttp2 = secure.alpnProtocol === 'h2' && sendHttp2 !== undefined;
                // An error thrown in an event would end the process: Node refuses some headers only here.
                try {
                  (isHttp2 ? sendHttp2 : sendHttp1)(sent);
                } catch (error) {
                  fail(error);
                }
              });
            })
            .catch(fail);
          break;
        default:
          fail(new Error(`unsupported protocol scheme ${goQuote(url.scheme)}`));
      }
    } catch (error) {
      fail(error);
    }
  });
}

/** Begins with the preface of HTTP/2; loads what that needs on first use. */
async function sendPlainHttp2(dial: () => SentExchange, isOver: () => boolean): Promise<void> {
  const { sendHttp2 } = await import('./http2.js');
  if (!isOver()) sendHttp2(dial());
}

function hostOf({ hostname }: HttpUrl): string {
  return hostname || '127.0.0.1';
}

/** Loads what TLS needs on first use. */
async function prepareTls(
  url: HttpUrl,
  { protocols, tls: trust }: GetRules,
): Promise<{
  readonly tls: typeof import('node:tls');
  readonly options: ConnectionOptions;
  readonly sendHttp2: ((sent: SentExchange) => void) | undefined;
}> {
  const [tls, http2, trusted] = await Promise.all([
    import('node:tls'),
    protocols.includes('h2') ? import('./http2.js') : undefined,
    trust(),
  ]);
  const host = hostOf(url);
  const options: ConnectionOptions = {
    ...trusted,
    host,
    port: url.port ?? 443,
    ALPNProtocols: [...protocols],
    ...(isIP(host) === 0 ? { servername: host } : {}),
  };
  return { tls, options, sendHttp2: http2?.sendHttp2 };
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

function watch(socket: Socket, flight: GetProgress, fail: (error: unknown) => void): void {
  socket.setNoDelay(true);
  socket.once('connect', () => {
    const { localAddress, localPort, remoteAddress, remotePort } = socket;
    flight.addresses = { localAddress, localPort, remoteAddress, remotePort };
    flight.stage = 'headers';
  });
  // Errors after the response change nothing, but an error without a listener would end the process.
  socket.on('error', fail);
}

function sendHttp1({ request, socket, body: rule, atBody, done, fail }: SentExchange): void {
  const { url, hostHeader, headers } = request;
  const sent = ['Host', headerText(hostHeader ?? formatHost(url))];
  for (const [name, value] of headers) sent.push(name, headerText(value));
  const outgoing = requestHttp1({
    method: 'GET',
    path: url.target,
    headers: sent,
    maxHeaderSize: httpGetLimits.headersBytes,
    createConnection: () => socket,
  });
  outgoing.on('error', fail);
  outgoing.on('upgrade', (response) => done({ ...headOf(response), body: emptyBody }));
  outgoing.on('response', (response) => {
    atBody();
    if (rule.limitBytes === 0) done({ ...headOf(response), body: emptyBody });
    else readBody(response, rule, (body) => done({ ...headOf(response), body }), fail);
  });
  outgoing.end();
}

function headOf({
  statusCode = 0,
  statusMessage = '',
  headers,
}: IncomingMessage): Omit<HttpExchange, 'body'> {
  return {
    status: statusCode,
    statusMessage,
    location: isRedirect(statusCode) ? headers.location : undefined,
  };
}
