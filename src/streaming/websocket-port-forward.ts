/** The server side of port-forward over WebSocket: a data and an error channel for each port of the request. */
import { setMaxListeners } from 'node:events';
import { finished } from 'node:stream';
import { errorText } from '../async/index.js';
import type { PortForwardStreamRequest, StreamingBackend } from './contracts.js';
import { cutText } from './limits.js';
import type { WebSocketProtocol } from './protocols.js';
import { WebSocketChannels, type WebSocketChannelsOptions } from './websocket/channels.js';
import type { WebSocketConnection } from './websocket/connection.js';

export interface WebSocketPortForwardOptions {
  readonly backend: StreamingBackend;
  readonly request: PortForwardStreamRequest;
  readonly protocol: WebSocketProtocol;
  readonly connection: Pick<WebSocketChannelsOptions, 'socket' | 'head' | 'clock' | 'idleTimeoutMs'>;
}

export function serveWebSocketPortForward(options: WebSocketPortForwardOptions): {
  readonly connection: WebSocketConnection;
  readonly done: Promise<void>;
} {
  const { backend, request, protocol } = options;
  const { ports } = request;
  const channels = new WebSocketChannels({
    ...options.connection,
    protocol,
    channels: new Map(
      ports.flatMap((_, index) => [[2 * index, true] as const, [2 * index + 1, false] as const]),
    ),
  });
  const { connection } = channels;
  const gone = new AbortController();
  setMaxListeners(0, gone.signal);
  void connection.closed.then(() => gone.abort(new Error('the client is gone')));

  const forward = async (port: number, index: number): Promise<void> => {
    const data = channels.channel(2 * index);
    const error = channels.channel(2 * index + 1);
    for (const stream of [data, error]) {
      stream.on('error', () => {});
      // The first message of a channel is its port.
      const first = Buffer.alloc(2);
      first.writeUInt16LE(port);
      stream.write(first);
    }
    try {
      await backend.portForward(request.podSandboxId, port, data, gone.signal);
    } catch (cause) {
      error.write(
        cutText(`error forwarding port ${port} to pod ${request.podSandboxId}, uid : ${errorText(cause)}`),
      );
    }
    await Promise.all([data, error].map(written));
  };

  const serve = async (): Promise<void> => {
    await Promise.all(ports.map(forward));
    await connection.close();
  };
  return { connection, done: serve() };
}

function written(stream: ReturnType<WebSocketChannels['channel']>): Promise<void> {
  return new Promise((resolve) => {
    finished(stream, { readable: false }, () => resolve());
    stream.end();
  });
}
