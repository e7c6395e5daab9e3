/** Serves gRPC services on a unix socket with Node's HTTP/2, as no served call is on the hot path. */
import { once } from 'node:events';
import { lstat, mkdir, rename, unlink } from 'node:fs/promises';
import {
  constants,
  createServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import path from 'node:path';
import { Cancelled, errorText } from '../async/index.js';
import { escapeMessage, timeoutMsOf } from './call-status.js';
import type { CallOptions } from './connection.js';
import { asGrpcError, GrpcError } from './errors.js';
import { grpcClientLimits, grpcServerLimits } from './limits.js';
import { frameMessage, GrpcMessageReader } from './message-frames.js';
import type { MethodInfo } from './protobuf/codec.js';

export interface GrpcService {
  /** The method table, as generated. */
  readonly methods: Readonly<Record<string, MethodInfo<object, object>>>;
  /**
   * Has a function for each method, by its name in the table. It takes the request and `CallOptions`. It returns a
   * promise of the response or, for a streaming method, an async iterable. A missing method is Unimplemented.
   */
  readonly implementation: object;
}

export interface ServeGrpcOptions {
  readonly socketPath: string;
  /**
   * Makes the socket's directory with this mode, and gives the socket its name only when it accepts connections, so that
   * no client meets one that does not.
   */
  readonly directoryMode?: number;
  /** How long calls may go on when the server closes, so that clients learn how they ended. Default: not at all. */
  readonly closeGraceMs?: number;
}

export interface GrpcServer {
  readonly endpoint: string;
  /** Why clients cannot connect; undefined if the last one could, or none has tried. */
  failure(): Error | undefined;
  /** Aborts the calls in flight, closes every connection and removes the socket. */
  close(): Promise<void>;
}

type UnaryMethod = (request: object, options: CallOptions) => Promise<object>;
type StreamMethod = (request: object, options: CallOptions) => AsyncIterable<object>;

const grpcHeaders = { ':status': 200, 'content-type': 'application/grpc' } as const;

/** Resolves when the socket accepts connections. Replaces a stale socket at the path. */
export async function serveGrpc(
  services: readonly GrpcService[],
  { socketPath, directoryMode, closeGraceMs }: ServeGrpcOptions,
): Promise<GrpcServer> {
  const handlers = new Map(services.flatMap(handlersOf));
  /** The connections, oldest first, with their calls in flight. */
  const sessions = new Map<Http2Session, number>();
  const server = createServer({
    maxSessionMemory: grpcServerLimits.sessionMegabytes,
    settings: { enablePush: false, maxConcurrentStreams: grpcServerLimits.calls },
  });
  server.on('session', (session) => {
    // At the limit, a connection without calls makes room for the new one.
    if (sessions.size >= grpcServerLimits.connections) {
      const [unused] = [...sessions].find(([, calls]) => calls === 0) ?? [session];
      unused.destroy();
      sessions.delete(unused);
      if (unused === session) return;
    }
    sessions.set(session, 0);
    session.once('close', () => sessions.delete(session));
    // Its streams report the same error.
    session.on('error', () => session.destroy());
    const count = (change: number): void => {
      const calls = sessions.get(session);
      if (calls !== undefined) sessions.set(session, calls + change);
    };
    session.on('stream', (stream: ServerHttp2Stream) => {
      count(1);
      stream.once('close', () => count(-1));
    });
  });
  server.on('stream', (stream, headers) => serveCall(stream, headers, handlers));
  await mkdir(path.dirname(socketPath), { recursive: true, mode: directoryMode });
  await removeStaleSocket(socketPath);
  const boundPath = directoryMode === undefined ? socketPath : `${path.dirname(socketPath)}/.s`;
  if (boundPath !== socketPath) await removeStaleSocket(boundPath);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(boundPath, () => {
      server.off('error', reject);
      resolve();
    });
  });
  let failure: Error | undefined;
  server.on('error', (error) => {
    failure = error;
  });
  server.on('connection', () => {
    failure = undefined;
  });
  if (boundPath !== socketPath) await rename(boundPath, socketPath);
  return {
    endpoint: `unix://${socketPath}`,
    failure: () => failure,
    async close() {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      if (closeGraceMs !== undefined) await callsEnded(sessions.keys(), closeGraceMs);
      // Clients keep their connections open; the server closes only when they are destroyed.
      for (const session of sessions.keys()) session.destroy();
      await closed;
      if (boundPath !== socketPath) await unlink(socketPath).catch(() => undefined);
    },
  };
}

/** Lets no session begin another call, and waits until those that there are have ended. */
async function callsEnded(sessions: Iterable<Http2Session>, graceMs: number): Promise<void> {
  const ended = [...sessions].map(async (session) => {
    if (session.destroyed) return;
    // Of a client that fails, too, its session closes.
    const closed = new Promise<void>((resolve) => void session.once('close', resolve));
    session.close();
    await closed;
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, graceMs);
  });
  await Promise.race([Promise.all(ended), late]);
  clearTimeout(timer);
}

async function removeStaleSocket(socketPath: string): Promise<void> {
  const found = await lstat(socketPath).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error(`${socketPath} exists and is not a socket`);
  await unlink(socketPath);
}

/** Answers one call whose request has arrived; rejects with the error for the client. */
type GrpcHandler = (request: Uint8Array, stream: ServerHttp2Stream, options: ServedOptions) => Promise<void>;
type ServedOptions = CallOptions & { readonly signal: AbortSignal };

function handlersOf({ methods, implementation }: GrpcService): [string, GrpcHandler][] {
  // The method table says which methods stream; GrpcService says what each function returns.
  const unary = implementation as Readonly<Record<string, UnaryMethod>>;
  const streams = implementation as Readonly<Record<string, StreamMethod>>;
  return Object.entries(methods).map(([name, { path: methodPath, request, response, serverStreaming }]) => {
    const respond: GrpcHandler = async (bytes, stream, options) => {
      const message = await unary[name]?.(request.decode(bytes), options);
      if (message === undefined) throw new GrpcError('Unimplemented', `unknown method ${methodPath}`);
      const frame = framed(response, message);
      if (stream.destroyed) return;
      beginResponse(stream);
      stream.end(frame);
    };
    const respondAll: GrpcHandler = async (bytes, stream, options) => {
      const messages = streams[name]?.(request.decode(bytes), options);
      if (messages === undefined) throw new GrpcError('Unimplemented', `unknown method ${methodPath}`);
      beginResponse(stream);
      await sendAll(messages, (message) => framed(response, message), stream, options.signal);
      stream.end();
    };
    return [methodPath, serverStreaming ? respondAll : respond];
  });
}

function serveCall(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  handlers: ReadonlyMap<string, GrpcHandler>,
): void {
  const controller = new AbortController();
  const timeoutMs = timeoutMsOf(headers['grpc-timeout']);
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => {
          controller.abort(new Cancelled());
          endWithError(stream, new GrpcError('DeadlineExceeded', 'context deadline exceeded'));
        }, timeoutMs);
  // The signal aborts when the client disconnects or cancels.
  stream.once('close', () => {
    clearTimeout(timer);
    controller.abort(new Cancelled());
  });
  stream.on('error', () => controller.abort(new Cancelled()));
  const handler = handlers.get(headers[':path'] ?? '');
  if (handler === undefined) {
    endWithError(stream, new GrpcError('Unimplemented', `unknown method ${headers[':path']}`));
    return;
  }
  const slow = setTimeout(() => {
    const message = `no request within ${grpcServerLimits.requestMs / 1000} s`;
    endWithError(stream, new GrpcError('DeadlineExceeded', message));
    stream.close(constants.NGHTTP2_CANCEL);
  }, grpcServerLimits.requestMs);
  readRequest(stream)
    .finally(() => clearTimeout(slow))
    .then((request) => handler(request, stream, { signal: controller.signal, timeoutMs }))
    .catch((error: unknown) => endWithError(stream, asGrpcError(error)));
}

/** Reads the single message of a request. */
async function readRequest(stream: ServerHttp2Stream): Promise<Uint8Array> {
  const reader = new GrpcMessageReader(grpcClientLimits.messageBytes);
  const chunks: AsyncIterable<Buffer> = stream.iterator({ destroyOnReturn: false });
  for await (const chunk of chunks) {
    reader.push(chunk);
    const message = reader.next();
    if (message !== undefined) return message;
  }
  throw new GrpcError('Internal', 'the request has no message');
}

/** Sends the headers; the status follows the messages in the trailers (gRPC over HTTP/2, Responses). */
function beginResponse(
  stream: ServerHttp2Stream,
  status: Record<string, string> = { 'grpc-status': '0' },
): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond(grpcHeaders, { waitForTrailers: true });
  stream.once('wantTrailers', () => stream.sendTrailers(trailers.get(stream) ?? status));
}

/** The status of streams that failed after their headers were sent. */
const trailers = new WeakMap<ServerHttp2Stream, Record<string, string>>();

function endWithError(stream: ServerHttp2Stream, { code, details }: GrpcError): void {
  if (stream.destroyed || stream.closed) return;
  const status = { 'grpc-status': String(code), 'grpc-message': escapeMessage(details) };
  if (!stream.headersSent) {
    stream.once('finish', () => setImmediate(() => refuseRest(stream)));
    stream.respond({ ...grpcHeaders, ...status }, { endStream: true });
    // Reading on shows whether the request is complete; then no reset is needed.
    stream.resume();
    return;
  }
  trailers.set(stream, status);
  stream.end();
}

/**
 * Resets a stream whose request is still being sent (RFC 9113, section 8.1; gRPC over HTTP/2, Early Server Closure). An
 * earlier reset would overtake the response.
 */
function refuseRest(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded && !stream.closed && !stream.destroyed) {
    stream.close(constants.NGHTTP2_NO_ERROR);
  }
}

function framed(type: MethodInfo<object, object>['response'], message: object): Buffer {
  try {
    return frameMessage(type.encode(message));
  } catch (error) {
    throw new GrpcError('Internal', `grpc: error while marshaling: ${errorText(error)}`, { cause: error });
  }
}

/** Takes the next message only when the stream has room for it. */
async function sendAll(
  messages: AsyncIterable<object>,
  frame: (message: object) => Buffer,
  stream: ServerHttp2Stream,
  signal: AbortSignal,
): Promise<void> {
  for await (const message of messages) {
    if (signal.aborted) return;
    if (!stream.write(frame(message))) await once(stream, 'drain', { signal });
  }
}
