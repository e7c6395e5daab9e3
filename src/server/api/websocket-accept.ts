/** Does the handshake with WebSocket clients that are served here instead of by the runtime. */
import { decideHandshake, type UpgradeHandshake } from '../../streaming/handshake.js';
import type { RouteResponse } from '../responses.js';
import type { ServerRequest } from '../routes.js';

export type AcceptedWebSocket = Extract<UpgradeHandshake, { readonly kind: 'websocket' }>;

/** The handshake for exactly this protocol, or for none if undefined. */
export function acceptWebSocket(
  { method, headers }: ServerRequest,
  purpose: 'command' | 'portforward',
  protocol: string | undefined,
): AcceptedWebSocket | { readonly kind: 'refused'; readonly response: RouteResponse } {
  const { 'sec-websocket-protocol': _, ...others } = headers;
  const offered = protocol === undefined ? others : { ...others, 'sec-websocket-protocol': protocol };
  const handshake = decideHandshake({ method, headers: offered }, purpose);
  if (handshake.kind === 'websocket') return handshake;
  if (handshake.kind === 'spdy') throw new Error('a WebSocket client was taken for another');
  const { statusCode, body, headers: refusalHeaders = [] } = handshake.refusal;
  return {
    kind: 'refused',
    response: { status: statusCode, headers: Object.fromEntries(refusalHeaders), body },
  };
}
