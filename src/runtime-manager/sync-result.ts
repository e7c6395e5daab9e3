/** The result of a pod sync, and the single error that its failures add up to. */
import { goQuote } from '../kube/index.js';
import type { SyncStepResult } from './contracts.js';
import type { PodPlan } from './plan/pod-plan.js';
import { firstRetry, type Retry, retryOf } from './retry.js';

export interface PodSyncResult {
  readonly steps: readonly SyncStepResult[];
  readonly plan: PodPlan;
  readonly sandboxCreated: boolean;
  readonly podIps: readonly string[];
  /** Whether to sync the pod again immediately. */
  readonly resyncAtOnce: boolean;
  /** Whether the sync removed containers that have ended, which is no step. */
  readonly removedInstances?: boolean;
  /** An error outside any step that ended the sync. */
  readonly error?: Error;
}

/** The failures of a sync as one error. */
export class PodSyncError extends Error {
  override readonly name = 'PodSyncError';
  readonly failedSteps: readonly SyncStepResult[];
  /** When the pod is worth another sync. */
  readonly retry: Retry;

  constructor(
    message: string,
    { failedSteps, retry, cause }: Pick<PodSyncError, 'failedSteps' | 'retry' | 'cause'>,
  ) {
    super(message, { cause });
    this.failedSteps = failedSteps;
    this.retry = retry;
  }
}

/** Undefined when every step succeeded. */
export function syncError(
  result: Pick<PodSyncResult, 'steps'> & { readonly error?: Error },
): PodSyncError | undefined {
  const failedSteps = result.steps.filter(({ failure }) => failure !== undefined);
  const texts = new Set<string>();
  if (result.error !== undefined) texts.add(`failed to SyncPod: ${result.error.message}`);
  for (const { action, target, failure } of failedSteps) {
    if (failure === undefined) continue;
    texts.add(
      `failed to ${goQuote(action)} for ${goQuote(target)} with ${failure.reason}: ${goQuote(failure.message)}`,
    );
  }
  if (texts.size === 0) return undefined;
  const joined = [...texts].join(', ');
  const cause = result.error ?? failedSteps[0]?.failure;
  const retry = firstRetry([
    retryOf(result.error),
    ...failedSteps.flatMap(({ failure }) => failure?.retry ?? []),
  ]);
  return new PodSyncError(texts.size === 1 ? joined : `[${joined}]`, { failedSteps, retry, cause });
}

/** Why the pod could not be resized; undefined when it was, or when it had not to be. */
export function resizeFailure({ steps }: Pick<PodSyncResult, 'steps'>): string | undefined {
  return steps.find(({ action }) => action === 'ResizePodInPlace')?.failure?.message;
}
