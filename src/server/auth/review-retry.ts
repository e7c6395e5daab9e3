/** Retries a review only when the API server did not decide it. */
import { type Clock, sleep } from '../../async/index.js';
import { isApiError, isUnreachable } from '../../kube-client/api-error.js';
import type { AuthMetrics } from '../metrics.js';

const attempts = 5;
const firstWaitMs = 500;
const factor = 1.5;
const jitter = 0.2;

export function isWorthAnother(error: unknown): boolean {
  if (isApiError(error)) {
    return error.code === 429 || error.code === 500 || error.retryAfterSeconds !== undefined;
  }
  // If nothing listens, an immediate retry is no use; a lost connection may have been a stale one.
  return isUnreachable(error) && error.unanswered === 'unknown';
}

export interface ReviewAsking {
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal | undefined;
  readonly metrics: AuthMetrics['accessReviews'];
}

export async function askForReview<T>(
  { clock, random, signal, metrics }: ReviewAsking,
  ask: () => Promise<T>,
): Promise<T> {
  let waitMs = firstWaitMs;
  for (let attempt = 1; ; attempt++) {
    const startMs = clock.monotonic();
    const count = (code: string): void => {
      metrics.total.inc({ code });
      metrics.duration.observe((clock.monotonic() - startMs) / 1000, { code });
    };
    try {
      const review = await ask();
      count('201');
      return review;
    } catch (error) {
      count(isApiError(error) ? String(error.code) : '<error>');
      if (attempt >= attempts || !isWorthAnother(error)) throw error;
    }
    await sleep(clock, waitMs * (1 + random() * jitter), signal);
    waitMs *= factor;
  }
}
