/**
 * Port-forward for clients that carry SPDY inside a WebSocket: unpacks messages for the runtime and packs
 * them for the client.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../async/index.js';
import { switchProtocols } from '../../streaming/http-responses.js';
import { writableRoom } from '../../streaming/index.js';
import { streamingLimits } from '../../streaming/limits.js';
import { WebSocketConnection } from '../../streaming/websocket/connection.js';
import { WebSocketError } from '../../streaming/websocket/frames.js';
import { plainError, type RouteResponse } from '../responses.js';
import type { ServerRequest } from '../routes.js';
import { takenOver, upgradeBackend } from './upgrade-proxy.js';
import { acceptWebSocket } from './websocket-accept.js';

const tunnelPrefix = 'SPDY/3.1+';
const spdyUpgrade = 'SPDY/3.1';
const protocolHeader = 'X-Stream-Protocol-Version';

/** The tunneled protocols among those that the client offers. */
export function tunneledProtocols(offered: string | undefined): string[] {
  return (offered ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item.startsWith(tunnelPrefix) && item.endsWith('.k8s.io'))
    .map((item) => item.slice(tunnelPrefix.length));
}

/** The client's request as the runtime understands it. */
export function tunneledRequest(request: ServerRequest, protocols: readonly string[]): ServerRequest {
  const rawHeaders: string[] = [];
  const given = request.rawHeaders ?? [];
  for (let at = 0; at + 1 < given.length; at += 2) {
    const [name = '', value = ''] = given.slice(at, at + 2);
    const lower = name.toLowerCase();
    if (!lower.startsWith('sec-websocket-') && lower !== 'upgrade' && lower !== 'connection') {
      rawHeaders.push(name, value);
    }
  }
  rawHeaders.push('Connection', 'Upgrade', 'Upgrade', spdyUpgrade);
  for (const protocol of protocols) rawHeaders.push(protocolHeader, protocol);
  return { ...request, method: 'POST', rawHeaders };
}

export async function tunnelPortForward(
  url: string,
  request: ServerRequest,
  clock: Clock,
): Promise<RouteResponse> {
  const protocols = tunneledProtocols(request.headers['sec-websocket-protocol']);
  if (protocols.length === 0) {
    return plainError(400, 'unable to upgrade: no tunneling spdy protocols provided');
  }
  const handshake = acceptWebSocket(request, 'portforward', undefined);
  if (handshake.kind === 'refused') return handshake.response;
  return upgradeBackend(url, tunneledRequest(request, protocols), clock, ({ backend, head, bytes }) => {
    if (head.headers.get('upgrade')?.toLowerCase() !== spdyUpgrade.toLowerCase()) {
      backend.destroy();
      return plainError(500, 'unable to upgrade: the runtime did not switch to SPDY');
    }
    const chosen = head.headers.get(protocolHeader.toLowerCase());
    return takenOver(async (client, first) => {
      switchProtocols(client, [
        ...handshake.headers,
        ...(chosen === undefined ? [] : ([['Sec-WebSocket-Protocol', `${tunnelPrefix}${chosen}`]] as const)),
      ]);
      await tunnel(client, first, backend, bytes.subarray(head.headBytes), clock);
    });
  });
}

/** Resolves when both ends are gone, with back-pressure both ways. */
async function tunnel(
  client: Duplex,
  first: Buffer,
  backend: Socket,
  early: Buffer,
  clock: Clock,
): Promise<void> {
  const connection = new WebSocketConnection({
    socket: client,
    head: first,
    clock,
    idleTimeoutMs: streamingLimits.idleMs,
    onMessage: async ({ data, binary }) => {
      if (!binary) throw new WebSocketError('a tunnel carries no text');
      if (!backend.destroyed && !backend.write(data)) await writableRoom(backend);
    },
  });
  const fromBackend = async (): Promise<void> => {
    try {
      if (early.length > 0) await connection.send(early, true);
      for await (const chunk of backend) await connection.send(chunk as Buffer, true);
    } catch {
      // A broken backend has ended; the close below tells the client.
    }
    await connection.close();
  };
  const forwarding = fromBackend();
  await connection.closed;
  backend.end(() => backend.destroy());
  backend.resume();
  const limit = clock.setTimer(lingerMs, () => backend.destroy());
  await forwarding;
  limit.cancel();
  backend.destroy();
}

/** How long the runtime may take to end its side after the client has gone. */
const lingerMs = 1_000;
