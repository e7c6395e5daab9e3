/** A streamed response for WebSocket clients: each part of the body is a message, as browsers read logs. */
import type { Clock } from '../async/index.js';
import { isStreamed, type RouteResponse, type StreamedBody } from '../server/responses.js';
import type { ServerRequest } from '../server/routes.js';
import { decideHandshake } from '../streaming/handshake.js';
import { switchProtocols } from '../streaming/http-responses.js';
import { streamingLimits } from '../streaming/limits.js';
import { WebSocketConnection } from '../streaming/websocket/connection.js';

/** The response itself, unless the client asked for a WebSocket and there is a body to stream. */
export function overWebSocket(
  { method, headers, upgradable = false }: ServerRequest,
  response: RouteResponse,
  clock: Clock,
): RouteResponse {
  const { body } = response;
  if (!upgradable || headers.upgrade?.toLowerCase() !== 'websocket' || !isStreamed(body)) return response;
  const handshake = decideHandshake({ method, headers }, 'body');
  if (handshake.kind === 'spdy') throw new Error('a WebSocket client was taken for another');
  if (handshake.kind === 'refused') {
    const { statusCode, body: text, headers: more = [] } = handshake.refusal;
    return { status: statusCode, headers: Object.fromEntries(more), body: text };
  }
  const { protocol } = handshake;
  return {
    status: 101,
    headers: {},
    body: {
      takeOver: async (socket, head) => {
        switchProtocols(socket, handshake.headers);
        const connection = new WebSocketConnection({
          socket,
          head,
          clock,
          idleTimeoutMs: streamingLimits.idleMs,
          // A reader of a body has nothing to say.
          onMessage: () => undefined,
        });
        await sendAll(body, connection, protocol.encoding);
      },
    },
  };
}

/** Ends the connection after the last byte; rejects, after that, when the body fails while the client still reads. */
async function sendAll(
  { stream }: StreamedBody,
  connection: WebSocketConnection,
  encoding: 'binary' | 'base64',
): Promise<void> {
  const left = new AbortController();
  const closed = connection.closed.then(() => left.abort());
  const isBinary = encoding === 'binary';
  try {
    await stream(
      {
        write: (bytes) => connection.send(isBinary ? bytes : Buffer.from(bytes.toString('base64')), isBinary),
      },
      left.signal,
    );
  } catch (error) {
    if (!left.signal.aborted) throw error;
  } finally {
    await connection.close();
    await closed;
  }
}
