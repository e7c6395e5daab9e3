/**
 * Dispatches requests to handlers and sends the responses: whole, streamed, or by handing over the
 * connection.
 */
import { type IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  ByteReader,
  Cancelled,
  type Clock,
  errorText,
  isCancelled,
  linkedController,
} from '../async/index.js';
import type { ListenLimits } from './limits.js';
import {
  isStreamed,
  isTakenOver,
  plainError,
  type RouteResponse,
  type StreamedBody,
  text,
} from './responses.js';
import { dispatch, type RequestGate, type Route, type ServerRequest } from './routes.js';
import type { Sessions } from './sessions.js';

export interface ResponderOptions {
  readonly routes: readonly Route[];
  readonly clock: Clock;
  readonly limits: Pick<ListenLimits, 'bodyBytes' | 'headers' | 'pathChars' | 'stalledMs' | 'inactivityMs'>;
  readonly sessions: Sessions;
  /** Aborted when the listener starts to close. */
  readonly closing: AbortSignal;
  readonly report: (request: IncomingMessage, error: unknown) => void;
  /** Checked before any existing route responds; absent where everybody may do everything. */
  readonly gate?: RequestGate | undefined;
}

/** Never rejects: a failure becomes the response and is reported. */
export async function respondToRequest(
  request: IncomingMessage,
  response: ServerResponse,
  options: ResponderOptions,
): Promise<void> {
  if (Number(request.headers['content-length'] ?? 0) > options.limits.bodyBytes) {
    response.shouldKeepAlive = false;
    sendWhole(response, text(413, '413 Request Entity Too Large'));
    return;
  }
  const readBody = takeBody(request, options.limits.bodyBytes);
  const left = new AbortController();
  response.once('close', () => left.abort());
  const routeResponse = await handle(request, { signal: left.signal, upgradable: false, readBody }, options);
  await send(request, response, routeResponse, left.signal, options);
}

/** Never rejects. When this resolves the connection is closed, or about to be. */
export async function respondToUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  options: ResponderOptions,
): Promise<void> {
  const left = new AbortController();
  socket.once('close', () => left.abort());
  // The close event follows an error, and everything waits for that.
  socket.on('error', () => {});
  // Check before asking the runtime, which would start something that nobody can follow.
  const routeResponse =
    options.sessions.refusal() ?? (await handle(request, { signal: left.signal, upgradable: true }, options));
  if (socket.destroyed) return;
  if (isTakenOver(routeResponse.body)) {
    // Request limits do not fit a session that may be silent for hours, and a keystroke must not wait for more bytes.
    if (socket instanceof Socket) socket.setNoDelay(true).setTimeout(0);
    const { body } = routeResponse;
    try {
      await options.sessions.during(() => body.takeOver(socket, head));
    } catch (error) {
      options.report(request, error);
    } finally {
      socket.destroy();
    }
    return;
  }
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  // HTTP servers pass the accepted sockets under a wider type.
  const accepted = socket as Socket;
  // The server has released the connection, and its limits with it.
  accepted.setTimeout(options.limits.inactivityMs, () => accepted.destroy());
  response.assignSocket(accepted);
  response.once('finish', () => {
    response.detachSocket(accepted);
    accepted.destroySoon();
  });
  await send(request, response, routeResponse, left.signal, options);
}

/** Never rejects. */
async function handle(
  request: IncomingMessage,
  more: Pick<ServerRequest, 'signal' | 'upgradable' | 'readBody'>,
  { routes, report, gate, limits }: ResponderOptions,
): Promise<RouteResponse> {
  try {
    const url = request.url ?? '';
    const mark = url.indexOf('?');
    const path = pathOf(url);
    if (path.length > limits.pathChars) return text(414, '414 URI Too Long');
    if (request.rawHeaders.length / 2 > limits.headers)
      return text(431, '431 Request Header Fields Too Large');
    const { remoteAddress } = request.socket;
    let query: URLSearchParams | undefined;
    const served: ServerRequest = {
      method: request.method ?? '',
      path,
      // Parsed lazily, only for admitted requests: it may have many thousands of values.
      get query() {
        query ??= new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
        return query;
      },
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      ...(remoteAddress === undefined ? {} : { remoteAddress }),
      connection: request.socket,
      ...more,
    };
    return await dispatch(routes, served, gate);
  } catch (error) {
    report(request, error);
    return text(500, `Internal Error: ${errorText(error)}`);
  }
}

/**
 * Never rejects: a response that cannot be sent, as with an invalid header character, ends the connection.
 */
async function send(
  request: IncomingMessage,
  response: ServerResponse,
  routeResponse: RouteResponse,
  left: AbortSignal,
  options: ResponderOptions,
): Promise<void> {
  if (response.destroyed) return;
  try {
    await sendResponse(request, response, routeResponse, left, options);
  } catch (error) {
    options.report(request, error);
    request.socket.destroy();
  }
}

async function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  routeResponse: RouteResponse,
  left: AbortSignal,
  options: ResponderOptions,
): Promise<void> {
  const { body } = routeResponse;
  if (isTakenOver(body)) {
    // Only upgrade requests can be taken over.
    sendWhole(response, plainError(500, 'Upgrade request required'));
  } else if (isStreamed(body)) {
    request.socket.setTimeout(0);
    const refusal = options.sessions.refusal();
    if (refusal !== undefined) sendWhole(response, refusal);
    else await options.sessions.during(() => sendStream(response, routeResponse, body, left, options));
  } else {
    sendWhole(response, routeResponse);
  }
}

function sendWhole(response: ServerResponse, { status, headers, body }: RouteResponse): void {
  const bytes = bytesOf(body);
  response.writeHead(status, { ...headers, 'Content-Length': bytes.length });
  response.end(bytes);
}

function bytesOf(body: RouteResponse['body']): Uint8Array {
  if (typeof body === 'string') return Buffer.from(body);
  return body instanceof Uint8Array ? body : Buffer.alloc(0);
}

async function sendStream(
  response: ServerResponse,
  { status, headers }: RouteResponse,
  body: StreamedBody,
  left: AbortSignal,
  { clock, limits, closing }: ResponderOptions,
): Promise<void> {
  const sendHead = (): void => {
    if (response.headersSent) return;
    response.writeHead(status, headers);
    response.flushHeaders();
  };
  const { controller, unlink } = linkedController(left, closing);
  const write = async (bytes: Buffer): Promise<void> => {
    if (response.destroyed) throw new Cancelled();
    sendHead();
    if (bytes.length > 0 && !response.write(bytes)) await drained(response, clock, limits.stalledMs);
  };
  try {
    if (body.headAtOnce) sendHead();
    await body.stream({ write }, controller.signal);
    sendHead();
  } catch (error) {
    if (response.destroyed) return;
    if (isCancelled(error) && controller.signal.aborted) {
      sendHead();
    } else {
      const failure = body.failed(error);
      if (!response.headersSent) {
        sendWhole(response, failure);
        return;
      }
      response.write(bytesOf(failure.body));
    }
  } finally {
    unlink();
  }
  // Whoever reads the end too slowly is cut off as with other responses.
  response.socket?.setTimeout(limits.inactivityMs);
  response.end();
}

/**
 * Resolves when the client has read its pending bytes; a client that reads nothing for too long is cut off.
 */
function drained(response: ServerResponse, clock: Clock, stalledMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const stalled = clock.setTimer(stalledMs, () => response.destroy());
    const onDrain = (): void => {
      stalled.cancel();
      response.off('close', onClose);
      resolve();
    };
    const onClose = (): void => {
      stalled.cancel();
      response.off('drain', onDrain);
      reject(new Cancelled());
    };
    response.once('drain', onDrain).once('close', onClose);
  });
}

/** Buffers a body for a handler that wants it. The length of a chunked one is only known by counting. */
function takeBody(request: IncomingMessage, limitBytes: number): () => Promise<Buffer> {
  // Chunks may be one byte each.
  const body = new ByteReader();
  request.on('data', (chunk: Buffer) => {
    if (body.length + chunk.length > limitBytes) request.destroy();
    else body.push(chunk);
  });
  return () =>
    new Promise((resolve, reject) => {
      const whole = (): void => resolve(body.takeAll());
      const cut = (): void => reject(new Error('unexpected EOF'));
      if (request.readableEnded) whole();
      else if (request.destroyed) cut();
      else request.once('end', whole).once('close', cut);
    });
}

/** The path of a request target, which may be a whole URL when the client takes us for a proxy. */
export function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?]*/i, '').replace(/[?#].*$/s, '');
}
