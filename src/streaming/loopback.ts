/** A streaming server on a loopback port, for runtimes inside the process. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { StreamRequest } from './contracts.js';
import { type StreamingServerOptions, streamingServer } from './server.js';

export interface LoopbackStreaming {
  /** The URL of the request, for one use within a minute; undefined when too many requests wait. */
  url(request: StreamRequest): Promise<string | undefined>;
  /** Ends all sessions. */
  close(): Promise<void>;
}

/** Starts to listen at the first request, so an unused server costs nothing. */
export function loopbackStreaming(options: StreamingServerOptions): LoopbackStreaming {
  const streaming = streamingServer(options);
  let listening: Promise<Server> | undefined;
  let closed = false;

  const listen = async (): Promise<Server> => {
    const server = createServer((request, response) => streaming.handleRequest(request, response));
    server.on('upgrade', (request, socket, head) => streaming.handleUpgrade(request, socket, head));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };

  return {
    async url(request) {
      if (closed) throw new Error('the streaming server is closed');
      listening ??= listen();
      const address = (await listening).address();
      if (address === null || typeof address === 'string')
        throw new Error('the streaming server has no port');
      const path = streaming.register(request);
      return path === undefined ? undefined : `http://127.0.0.1:${address.port}${path}`;
    },
    async close() {
      closed = true;
      await streaming.close();
      const server = await listening?.catch(() => undefined);
      if (server === undefined) return;
      const gone = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await gone;
    },
  };
}
