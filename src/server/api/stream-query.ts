/** Parses stream requests and the kind of upgrade they want. */
import type { IncomingHttpHeaders } from 'node:http';
import type { WantedStreams } from '../../streaming/index.js';

/** Undefined when no stream is requested. A terminal has one output, so it has no separate stderr. */
export function decodeStreams(query: URLSearchParams): WantedStreams | undefined {
  const isSet = (name: string): boolean => query.get(name) === '1';
  const tty = isSet('tty');
  const streams = { stdin: isSet('input'), stdout: isSet('output'), stderr: isSet('error'), tty };
  if (!streams.stdin && !streams.stdout && !streams.stderr) return undefined;
  return { ...streams, stderr: streams.stderr && !tty };
}

export type UpgradeKind =
  | 'none'
  /** Passed through to the runtime's own server. */
  | 'transparent'
  | 'websocket'
  /** SPDY inside a WebSocket. */
  | 'tunnel';

export function upgradeKind(headers: IncomingHttpHeaders): UpgradeKind {
  if (!/upgrade/i.test(headers.connection ?? '')) return 'none';
  if (headers.upgrade?.toLowerCase() !== 'websocket') return 'transparent';
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((item) => item.trim());
  return protocols.some((item) => item.startsWith('SPDY/3.1+') && item.endsWith('.k8s.io'))
    ? 'tunnel'
    : 'websocket';
}

/** Whether a WebSocket client can close its input separately, which runtimes do not support. */
export function offersClosing(headers: IncomingHttpHeaders): boolean {
  if (upgradeKind(headers) !== 'websocket') return false;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((item) => item.trim());
  return offered.includes(closingProtocol);
}

export const closingProtocol = 'v5.channel.k8s.io';

export type DecodedPorts =
  | { readonly kind: 'ports'; readonly ports: readonly number[] }
  | { readonly kind: 'invalid'; readonly message: string };

/** Only WebSocket clients name their ports in advance; others name one per stream. */
export function decodePorts(query: URLSearchParams, headers: IncomingHttpHeaders): DecodedPorts {
  if (upgradeKind(headers) !== 'websocket') return { kind: 'ports', ports: [] };
  const invalid = (message: string): DecodedPorts => ({ kind: 'invalid', message });
  const given = query.getAll('port');
  if (given.length === 0) return invalid('query parameter "port" is required');
  const ports: number[] = [];
  for (const list of given) {
    if (list === '') return invalid('query parameter "port" cannot be empty');
    for (const item of list.split(',')) {
      const problem = portProblem(item);
      if (problem !== undefined) return invalid(problem);
      ports.push(Number(item));
    }
  }
  return { kind: 'ports', ports };
}

function portProblem(item: string): string | undefined {
  const quoted = JSON.stringify(item);
  const unparsable = (why: string): string =>
    `unable to parse ${quoted} as a port: strconv.ParseUint: parsing ${quoted}: ${why}`;
  if (!/^\d+$/.test(item)) return unparsable('invalid syntax');
  if (BigInt(item) > 65_535n) return unparsable('value out of range');
  return Number(item) === 0 ? `port ${quoted} must be > 0` : undefined;
}
