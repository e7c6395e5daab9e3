/** The server's side of port-forward over SPDY: pairs of streams, each pair one connection into the pod. */
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
  /** Whether the client was told of a stream that was there already. */
  complained: boolean;
  data?: SpdyStream;
  error?: SpdyStream;
}

export interface StreamRole {
  readonly type: 'data' | 'error';
  readonly port: number;
  readonly requestId: string;
}

/** What a stream is for, by its headers; undefined when they make no sense. */
export function streamRole(id: number, headers: ReadonlyMap<string, string>): StreamRole | undefined {
  const type = headers.get('streamtype');
  const port = parsePort(headers.get('port') ?? '');
  if ((type !== 'data' && type !== 'error') || port === undefined) return undefined;
  // Clients that give no id open the error stream of a pair right before its data stream.
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
  // Every connection into the pod listens on this signal; many listeners are what it is for.
  setMaxListeners(0, gone.signal);

  const forward = async (port: number, data: SpdyStream, error: SpdyStream): Promise<void> => {
    const { controller, unlink } = linkedController(gone.signal);
    // The connection into the pod must not outlive the stream that a client has reset.
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
    // Ends and resets are seen by whoever reads; an error by itself must not end the process.
    stream.on('error', () => {});
    const half = known ?? {
      timer: clock.setTimer(creationTimeoutMs, () => expire(requestId)),
      complained: false,
    };
    halves.set(requestId, half);
    if (half[type] !== undefined) {
      stream.destroy();
      // The first one of its kind may still find its other half. The client is told once, however often it does this.
      if (half.error === undefined || half.complained) return;
      half.complained = true;
      half.error.write(
        `error processing stream for request ${requestId}: the ${type} stream is there already`,
      );
      return;
    }
    half[type] = stream;
    // Nothing is expected there; what comes all the same must not hold up the connection.
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

/** Resolves when the text was sent, or the stream is gone. */
function tell(error: SpdyStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    finished(error, { readable: false }, () => resolve());
    error.end(text);
  });
}
