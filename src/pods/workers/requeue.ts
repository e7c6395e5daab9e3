/** When a worker syncs its pod again after a step. */
import { jitter } from '../../async/index.js';
import { isUnavailable } from '../../cri/index.js';
import type { SyncOutcome } from './types.js';

export interface RequeueInput {
  readonly phaseTransition: boolean;
  /** A cancelled step is not requeued: the update that cancelled it comes next. */
  readonly outcome: Exclude<SyncOutcome, { readonly kind: 'cancelled' }>;
  readonly resyncMs: number;
  readonly errorBackoffMs: number;
  /** For what is likely to be over soon. */
  readonly networkBackoffMs: number;
  /** Wall-clock milliseconds, as the ends of back-offs are. */
  readonly nowMs: number;
  readonly random: () => number;
}

export function requeueDelayMs(input: RequeueInput): number {
  return input.phaseTransition ? 0 : jitter(plainDelayMs(input), input.random);
}

function plainDelayMs({ outcome, resyncMs, errorBackoffMs, networkBackoffMs, nowMs }: RequeueInput): number {
  if (outcome.kind === 'done') return resyncMs;
  switch (outcome.reason) {
    case 'networkNotReady':
    case 'runtimeUnavailable':
      return networkBackoffMs;
    case 'backOff':
      return Math.min(Math.max(0, outcome.atMs - nowMs), resyncMs);
    case 'error':
      return Math.min(errorBackoffMs, resyncMs);
  }
}

/** The outcome of a step that threw; by the kind of the error alone, as its text may repeat what a registry says. */
export function outcomeOfThrow(error: unknown, signal: AbortSignal): SyncOutcome {
  if (signal.aborted) return { kind: 'cancelled' };
  return outcomeOfError(error);
}

/** The outcome of a step that an error ended. */
export function outcomeOfError(error: unknown): Extract<SyncOutcome, { readonly kind: 'retry' }> {
  return { kind: 'retry', reason: isUnavailable(error) ? 'runtimeUnavailable' : 'error', error };
}
