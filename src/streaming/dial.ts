/** Opens the connection of a streaming client with an HTTP request that the server upgrades to SPDY/3.1. */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Cancelled, type Clock, systemClock, type Timer, throwIfCancelled } from '../async/index.js';
import { type StreamTarget, UpgradeRefused } from './contracts.js';
import { streamingClientLimits } from './limits.js';
import { SpdyConnection } from './spdy/connection.js';
import { streamingSocket } from './streaming-socket.js';

export const spdyUpgrade = 'SPDY/3.1';
export const protocolHeader = 'x-stream-protocol-version';

export interface DialOptions {
  readonly target: StreamTarget;
  /** In order of preference. */
  readonly protocols: readonly string[];
  readonly signal: AbortSignal | undefined;
  readonly clock?: Clock;
}

export interface DialedConnection {
  readonly connection: SpdyConnection;
  /** The protocol that the server chose; empty when it named none. */
  readonly protocol: string;
}

/** Rejects with `UpgradeRefused` when the server does not upgrade. */
export async function dialSpdy(options: DialOptions): Promise<DialedConnection> {
  const { signal, clock = systemClock } = options;
  throwIfCancelled(signal);
  const { socket, head, response } = await upgrade(options);
  const upgraded = response.headers.upgrade ?? '';
  if (upgraded.toLowerCase() !== spdyUpgrade.toLowerCase()) {
    socket.destroy();
    throw new Error(`unable to upgrade connection: the server upgraded to ${JSON.stringify(upgraded)}`);
  }
  const chosen = response.headers[protocolHeader];
  return {
    connection: new SpdyConnection({ socket, head, role: 'client', clock }),
    protocol: (Array.isArray(chosen) ? chosen[0] : chosen) ?? '',
  };
}

interface Upgraded {
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly response: IncomingMessage;
}

function upgrade({ target, protocols, signal, clock = systemClock }: DialOptions): Promise<Upgraded> {
  const { upgradeMs } = streamingClientLimits;
  let limit: Timer | undefined;
  return new Promise<Upgraded>((resolve, reject) => {
    const options: RequestOptions = {
      method: 'POST',
      headers: {
        ...target.headers,
        Connection: 'Upgrade',
        Upgrade: spdyUpgrade,
        [protocolHeader]: [...protocols],
      },
      ...(signal === undefined ? {} : { signal }),
    };
    const request = requestOf(target, options);
    request.once('upgrade', (response, socket, head) => resolve({ socket, head, response }));
    request.once('response', (response) => {
      readBounded(response).then(
        (body) => {
          request.destroy();
          reject(new UpgradeRefused(response.statusCode ?? 0, body));
        },
        (error: unknown) => reject(signal?.aborted ? new Cancelled() : error),
      );
    });
    request.on('error', (error) => reject(signal?.aborted ? new Cancelled() : error));
    limit = clock.setTimer(upgradeMs, () =>
      request.destroy(new Error(`unable to upgrade connection: no response within ${upgradeMs / 1000} s`)),
    );
    request.end();
  }).finally(() => limit?.cancel());
}

function requestOf(target: StreamTarget, options: RequestOptions): ReturnType<typeof httpRequest> {
  if ('socketPath' in target) {
    const { socketPath, path } = target;
    return httpRequest({ ...options, path, createConnection: () => streamingSocket({ socketPath }) });
  }
  const url = new URL(target.url);
  const { tls = {} } = target;
  const createConnection = (): Socket => streamingSocket({ url, tls });
  return url.protocol === 'https:'
    ? httpsRequest(url, { ...options, createConnection, defaultPort: 443 })
    : httpRequest(url, { ...options, createConnection });
}

async function readBounded(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of response) {
    // A message without an encoding yields buffers.
    const bytes = chunk as Buffer;
    sizeBytes += bytes.length;
    chunks.push(bytes);
    if (sizeBytes >= streamingClientLimits.errorBodyBytes) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, streamingClientLimits.errorBodyBytes);
}
