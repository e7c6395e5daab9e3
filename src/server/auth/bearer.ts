/** Finds a request's bearer token, and strips it after authentication. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ServerRequest } from '../routes.js';

export type BearerTokenResult =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'invalid'; readonly why: string };

/** `Authorization: Bearer <token>`; any other scheme is not ours. */
export function bearerToken(headers: IncomingHttpHeaders): BearerTokenResult {
  const [scheme = '', token = ''] = (headers.authorization ?? '').trim().split(' ');
  if (scheme.toLowerCase() !== 'bearer' || token === '') return { kind: 'none' };
  return { kind: 'token', token };
}

const protocolPrefix = 'base64url.bearer.authorization.k8s.io.';

/** For browsers, which cannot set headers on a WebSocket: an item in the list of protocols. */
export function webSocketToken(headers: IncomingHttpHeaders): BearerTokenResult {
  if (!isWebSocket(headers)) return { kind: 'none' };
  const offered = protocolsOf(headers['sec-websocket-protocol']);
  const carriers = offered.filter((item) => item.startsWith(protocolPrefix));
  const [carrier] = carriers;
  if (carrier === undefined) return { kind: 'none' };
  if (carriers.length > 1) return { kind: 'invalid', why: 'multiple base64 bearer token protocols' };
  if (offered.length === 1) return { kind: 'invalid', why: 'missing additional subprotocol' };
  const token = decodeToken(carrier.slice(protocolPrefix.length));
  return token === undefined
    ? { kind: 'invalid', why: 'invalid base64 bearer token' }
    : { kind: 'token', token };
}

function decodeToken(encoded: string): string | undefined {
  if (!/^[\w-]+$/.test(encoded)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(encoded, 'base64url'));
  } catch {
    return undefined;
  }
}

function isWebSocket({ connection, upgrade }: IncomingHttpHeaders): boolean {
  return /upgrade/i.test(connection ?? '') && upgrade?.toLowerCase() === 'websocket';
}

function protocolsOf(header: string | undefined): string[] {
  return (header ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** The request without what only its authentication needed. */
export function withoutTokens(request: ServerRequest): ServerRequest {
  const { authorization: _, ...headers } = request.headers;
  const protocols = headers['sec-websocket-protocol'];
  const kept = withoutCarrier(protocols ?? '');
  const rawHeaders: string[] = [];
  for (let at = 0; at + 1 < (request.rawHeaders?.length ?? 0); at += 2) {
    const [name = '', value = ''] = request.rawHeaders?.slice(at, at + 2) ?? [];
    const lower = name.toLowerCase();
    if (lower === 'authorization') continue;
    const left = lower === 'sec-websocket-protocol' ? withoutCarrier(value) : value;
    if (left !== '' || value === '') rawHeaders.push(name, left);
  }
  return {
    ...request,
    headers: protocols === undefined ? headers : { ...headers, 'sec-websocket-protocol': kept },
    ...(request.rawHeaders === undefined ? {} : { rawHeaders }),
  };
}

function withoutCarrier(header: string): string {
  if (!header.includes(protocolPrefix)) return header;
  return protocolsOf(header)
    .filter((item) => !item.startsWith(protocolPrefix))
    .join(', ');
}
