/** Requests that wait for their client: each under a random token, for one use and not for long. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../async/index.js';
import type { StreamRequest } from './contracts.js';
import { streamingLimits } from './limits.js';

/** Six bytes are eight characters. */
const tokenBytes = 6;

interface PendingStreamRequest {
  readonly request: StreamRequest;
  readonly expiresMs: number;
}

export class StreamRequests {
  readonly #clock: Clock;
  /** In the order of their coming, which is that of their expiry. */
  readonly #entries = new Map<string, PendingStreamRequest>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The path of the request; undefined when too many wait already. */
  add(request: StreamRequest): string | undefined {
    this.#dropExpired();
    if (this.#entries.size >= streamingLimits.waitingRequests) return undefined;
    const token = randomBytes(tokenBytes).toString('base64url');
    this.#entries.set(token, {
      request,
      expiresMs: this.#clock.monotonic() + streamingLimits.waitingRequestMs,
    });
    return `/${request.kind}/${token}`;
  }

  /** The request of the path, which is thereby used up. */
  take(path: string): StreamRequest | undefined {
    this.#dropExpired();
    const [, kind, token = '', ...rest] = path.split('/');
    const entry = this.#entries.get(token);
    if (entry === undefined || entry.request.kind !== kind || rest.length > 0) return undefined;
    this.#entries.delete(token);
    return entry.request;
  }

  #dropExpired(): void {
    const nowMs = this.#clock.monotonic();
    for (const [token, { expiresMs }] of this.#entries) {
      if (expiresMs > nowMs) return;
      this.#entries.delete(token);
    }
  }
}
