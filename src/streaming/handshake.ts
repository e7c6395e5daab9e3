/** Decides how to answer an upgrade request: SPDY or WebSocket with a sub-protocol, or a refusal. */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { HeaderList, Refusal } from './http-responses.js';
import {
  type CommandVersion,
  firstKnown,
  listedValues,
  portForwardProtocol,
  spdyCommandProtocols,
  type WebSocketProtocol,
  webSocketBodyProtocols,
  webSocketCommandProtocols,
  webSocketPortForwardProtocols,
} from './protocols.js';

export interface UpgradeRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/** What the streams of the connection are for. */
export type StreamPurpose = 'command' | 'portforward' | 'body';

export type UpgradeHandshake =
  | { readonly kind: 'spdy'; readonly version: CommandVersion; readonly headers: HeaderList }
  | { readonly kind: 'websocket'; readonly protocol: WebSocketProtocol; readonly headers: HeaderList }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** The server appends it to the client's key for Sec-WebSocket-Accept (RFC 6455, sections 1.3 and 4.2.2). */
const acceptSuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

export function decideHandshake(request: UpgradeRequest, purpose: StreamPurpose): UpgradeHandshake {
  const upgrade = (request.headers.upgrade ?? '').toLowerCase();
  const upgrades = (request.headers.connection ?? '').toLowerCase().includes('upgrade');
  if (upgrades && upgrade === 'websocket') return decideWebSocket(request, purpose);
  if (upgrades && upgrade === 'spdy/3.1' && purpose !== 'body') return decideSpdy(request, purpose);
  return refused(
    400,
    `unable to upgrade: missing upgrade headers in request: ${JSON.stringify(request.headers)}`,
  );
}

function decideSpdy({ headers }: UpgradeRequest, purpose: 'command' | 'portforward'): UpgradeHandshake {
  const known: ReadonlyMap<string, CommandVersion> =
    purpose === 'command' ? spdyCommandProtocols : new Map([[portForwardProtocol, 4]]);
  const offered = listedValues(headers['x-stream-protocol-version']);
  if (offered.length === 0) {
    return refused(400, 'unable to upgrade: header X-Stream-Protocol-Version is missing or empty');
  }
  const chosen = firstKnown(offered, known);
  if (chosen === undefined) {
    return {
      kind: 'refused',
      refusal: {
        statusCode: 403,
        body: `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(' ')}], server accepts [${[...known.keys()].join(' ')}]`,
        headers: [...known.keys()].map((name) => ['X-Accepted-Stream-Protocol-Versions', name]),
      },
    };
  }
  return {
    kind: 'spdy',
    version: chosen.value,
    headers: [
      ['Connection', 'Upgrade'],
      ['Upgrade', 'SPDY/3.1'],
      ['X-Stream-Protocol-Version', chosen.name],
    ],
  };
}

const webSocketProtocols: Readonly<Record<StreamPurpose, ReadonlyMap<string, WebSocketProtocol>>> = {
  command: webSocketCommandProtocols,
  portforward: webSocketPortForwardProtocols,
  body: webSocketBodyProtocols,
};

function decideWebSocket({ method, headers }: UpgradeRequest, purpose: StreamPurpose): UpgradeHandshake {
  const known = webSocketProtocols[purpose];
  // The requirements on the client's handshake (RFC 6455, section 4.2.1).
  if (method !== 'GET') return refused(405, '');
  const key = headers['sec-websocket-key'];
  if (key === undefined || key === '') return refused(400, '');
  // The response names the supported version (RFC 6455, section 4.4).
  if (headers['sec-websocket-version'] !== '13') {
    return {
      kind: 'refused',
      refusal: { statusCode: 400, body: '', headers: [['Sec-WebSocket-Version', '13']] },
    };
  }
  const offered = listedValues(headers['sec-websocket-protocol']);
  const chosen = firstKnown(offered.length === 0 ? [''] : offered, known);
  if (chosen === undefined) return refused(403, '');
  const accept = createHash('sha1').update(`${key}${acceptSuffix}`).digest('base64');
  return {
    kind: 'websocket',
    protocol: chosen.value,
    headers: [
      ['Upgrade', 'websocket'],
      ['Connection', 'Upgrade'],
      ['Sec-WebSocket-Accept', accept],
      ...(chosen.name === '' ? [] : ([['Sec-WebSocket-Protocol', chosen.name]] as const)),
    ],
  };
}

function refused(statusCode: number, body: string): UpgradeHandshake {
  return { kind: 'refused', refusal: { statusCode, body } };
}
