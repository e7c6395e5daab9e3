/** What one sync of a pod did, and the one error that its failures add up to. */
import { goQuote } from '../kube/index.js';
import type { SyncStepResult } from './contracts.js';
import type { PodPlan } from './plan/pod-plan.js';

export interface PodSyncResult {
  readonly steps: readonly SyncStepResult[];
  readonly plan: PodPlan;
  readonly sandboxCreated: boolean;
  readonly podIps: readonly string[];
  /** Whether the pod has to be synced again without waiting for anything. */
  readonly resyncAtOnce: boolean;
  /** What ended the sync outside any step. */
  readonly error?: Error;
}

/** The failures of a sync as one error. */
export class PodSyncError extends Error {
  override readonly name = 'PodSyncError';
  readonly failedSteps: readonly SyncStepResult[];
  /** When waiting is what is left to do: wall-clock milliseconds at which the earliest wait ends. */
  readonly backoffUntilMs: number | undefined;

  constructor(message: string, failedSteps: readonly SyncStepResult[], options?: ErrorOptions) {
    super(message, options);
    this.failedSteps = failedSteps;
    const ends = failedSteps.flatMap(({ failure }) => failure?.backoffUntilMs ?? []);
    this.backoffUntilMs = ends.length === 0 ? undefined : Math.min(...ends);
  }
}

/** Undefined when everything that was tried succeeded. */
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
  return new PodSyncError(texts.size === 1 ? joined : `[${joined}]`, failedSteps, { cause });
}
