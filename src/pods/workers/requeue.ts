/** When a worker looks at its pod again after a step. */
import { jitter } from '../../async/index.js';
import { isUnavailable } from '../../cri/index.js';

export interface RequeueInput {
  readonly phaseTransition: boolean;
  readonly error: unknown;
  readonly resyncMs: number;
  readonly errorBackoffMs: number;
  /** For what is likely to be over soon: a network that comes up, a runtime that is being restarted. */
  readonly networkBackoffMs: number;
  /** Wall-clock milliseconds, as the ends of crash-loop back-offs are. */
  readonly nowMs: number;
  readonly random: () => number;
}

/** The network of pods is not up yet, as the runtime tells. */
export class NetworkNotReady extends Error {
  override readonly name = 'NetworkNotReady';

  constructor(why: string) {
    super(`network is not ready: ${why}`);
  }
}

export function requeueDelayMs(input: RequeueInput): number {
  if (input.phaseTransition) return 0;
  if (input.error === undefined) return jitter(input.resyncMs, input.random);
  // By the kind of the error: its text may repeat what a registry or a command says.
  const isSoonOver = (error: unknown): boolean => error instanceof NetworkNotReady || isUnavailable(error);
  if (errorsIn(input.error).some(isSoonOver)) return jitter(input.networkBackoffMs, input.random);
  const endsMs = earliestBackoffEnd(input.error);
  const wantedMs = endsMs === undefined ? input.errorBackoffMs : endsMs - input.nowMs;
  return jitter(Math.min(Math.max(0, wantedMs), input.resyncMs), input.random);
}

/** The first end of a crash-loop back-off anywhere in a tree of errors. */
export function earliestBackoffEnd(error: unknown): number | undefined {
  const ends = errorsIn(error).flatMap((one) =>
    'backoffUntilMs' in one && typeof one.backoffUntilMs === 'number' ? [one.backoffUntilMs] : [],
  );
  return ends.length === 0 ? undefined : ends.reduce((earliest, end) => Math.min(earliest, end));
}

const deepest = 8;

/** An error with its causes and parts, and theirs. */
function errorsIn(error: unknown, depth = 0): readonly object[] {
  if (depth > deepest || typeof error !== 'object' || error === null) return [];
  const parts = 'errors' in error && Array.isArray(error.errors) ? error.errors : [];
  const causes = error instanceof Error && error.cause !== undefined ? [error.cause] : [];
  return [error, ...[...causes, ...parts].flatMap((inner) => errorsIn(inner, depth + 1))];
}
