/** Keeps requests for their clients: each under a random token, for one use and for a limited time. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../async/index.js';
import type { StreamRequest } from './contracts.js';
import { streamingLimits } from './limits.js';

/** Six bytes make eight characters. */
const tokenBytes = 6;

interface PendingStreamRequest {
  readonly request: StreamRequest;
  readonly expiresMs: number;
}

export class StreamRequests {
  readonly #clock: Clock;
  /** In order of arrival, which is also the order of expiry. */
  readonly #entries = new Map<string, PendingStreamRequest>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The path for the request; undefined when too many requests wait. */
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

  /** Returns the request of the path and forgets it. */
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
