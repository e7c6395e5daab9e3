/** The server side of port-forward over SPDY: each pair of streams is one connection to the pod. */
import { setMaxListeners } from 'node:events';
import { finished } from 'node:stream';
import { type Clock, errorText, linkedController, type Timer } from '../async/index.js';
import type { PortForwardStreamRequest, StreamingBackend } from './contracts.js';
import { cutText, spdyLimits } from './limits.js';
import { SpdyConnection, type SpdyConnectionOptions } from './spdy/connection.js';
import { RstStatus } from './spdy/frames.js';
import type { SpdyStream } from './spdy/stream.js';

export interface SpdyPortForwardOptions {
  readonly backend: StreamingBackend;
  readonly request: PortForwardStreamRequest;
  readonly connection: Pick<SpdyConnectionOptions, 'socket' | 'head' | 'clock' | 'idleTimeoutMs'>;
  readonly creationTimeoutMs: number;
  readonly clock: Clock;
}

interface HalfPair {
  readonly timer: Timer;
  /** Whether the client was told that it opened a stream twice. */
  complained: boolean;
  data?: SpdyStream;
  error?: SpdyStream;
}

export interface StreamRole {
  readonly type: 'data' | 'error';
  readonly port: number;
  readonly requestId: string;
}

/** The role of a stream, from its headers; undefined when they are invalid. */
export function streamRole(id: number, headers: ReadonlyMap<string, string>): StreamRole | undefined {
  const type = headers.get('streamtype');
  const port = parsePort(headers.get('port') ?? '');
  if ((type !== 'data' && type !== 'error') || port === undefined) return undefined;
  // A client without request ids opens the error stream of a pair directly before its data stream.
  const requestId = headers.get('requestid') ?? String(type === 'error' ? id : id - 2);
  if (requestId.length > spdyLimits.requestIdChars) return undefined;
  return { type, port, requestId };
}

export function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 0xffff ? port : undefined;
}

export function serveSpdyPortForward(options: SpdyPortForwardOptions): {
  readonly connection: SpdyConnection;
  readonly done: Promise<void>;
} {
  const { backend, request, clock, creationTimeoutMs } = options;
  const halves = new Map<string, HalfPair>();
  const forwards = new Set<Promise<void>>();
  const gone = new AbortController();
  // Every connection to the pod listens on this signal, so it may have many listeners.
  setMaxListeners(0, gone.signal);

  const forward = async (port: number, data: SpdyStream, error: SpdyStream): Promise<void> => {
    const { controller, unlink } = linkedController(gone.signal);
    // The connection to the pod must not outlive a stream that the client has reset.
    const onCut = (): void => controller.abort(new Error('the client has reset the stream'));
    if (data.resetBy !== undefined) onCut();
    data.once('cut', onCut);
    try {
      await backend.portForward(request.podSandboxId, port, data, controller.signal);
      data.end();
      error.end();
    } catch (cause) {
      await tell(
        error,
        cutText(`error forwarding port ${port} to pod ${request.podSandboxId}, uid : ${errorText(cause)}`),
      );
      data.destroy();
      error.destroy();
    } finally {
      data.off('cut', onCut);
      unlink();
    }
  };

  const onStream = (stream: SpdyStream): void => {
    const role = streamRole(stream.id, stream.headers);
    if (role === undefined) {
      stream.refuse(RstStatus.protocolError);
      return;
    }
    const { type, port, requestId } = role;
    const known = halves.get(requestId);
    const full = halves.size >= spdyLimits.halfPairs || forwards.size >= spdyLimits.streams / 2;
    if (known === undefined && full) {
      stream.refuse();
      return;
    }
    stream.accept();
    // The reader sees ends and resets. An unhandled error event would end the process.
    stream.on('error', () => {});
    const half = known ?? {
      timer: clock.setTimer(creationTimeoutMs, () => expire(requestId)),
      complained: false,
    };
    halves.set(requestId, half);
    if (half[type] !== undefined) {
      stream.destroy();
      // The first stream of its type may still be paired. The client is told only once.
      if (half.error === undefined || half.complained) return;
      half.complained = true;
      half.error.write(
        `error processing stream for request ${requestId}: the ${type} stream is already open`,
      );
      return;
    }
    half[type] = stream;
    // Clients send nothing on the error stream. Unread data there must not block the connection.
    if (type === 'error') stream.resume();
    const { data, error } = half;
    if (data === undefined || error === undefined) return;
    half.timer.cancel();
    halves.delete(requestId);
    const running = forward(port, data, error).finally(() => forwards.delete(running));
    forwards.add(running);
  };

  const expire = (requestId: string): void => {
    const half = halves.get(requestId);
    halves.delete(requestId);
    half?.error?.end(`(request=${requestId}) timed out waiting for streams`);
    half?.data?.destroy();
  };

  const connection = new SpdyConnection({ ...options.connection, role: 'server', onStream });
  const done = connection.closed.then(async () => {
    gone.abort(new Error('the client is gone'));
    for (const { timer } of halves.values()) timer.cancel();
    await Promise.all(forwards);
  });
  return { connection, done };
}

/** Resolves when the text was sent or the stream has ended. */
function tell(error: SpdyStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    finished(error, { readable: false }, () => resolve());
    error.end(text);
  });
}
