/** Brings a pod's wanted volumes into the desired state; of two rounds for one pod, the later one counts. */
import type { Pod } from '../../kube/index.js';
import type { ClaimStore, VolumePlugin } from '../contracts.js';
import type { LabelBook } from './label-book.js';
import type { OperationExecutor } from './operation-executor.js';
import { processPod } from './processing.js';
import type { Reconciler } from './reconciler.js';
import { mountKey, type WantedMount } from './states.js';

export interface PodProcessorOptions {
  readonly plugins: readonly VolumePlugin[];
  readonly claims: ClaimStore | undefined;
  readonly labels: LabelBook;
  readonly reconciler: Pick<Reconciler, 'desired' | 'want' | 'look' | 'retryResize'>;
  readonly operator: Pick<OperationExecutor, 'actual' | 'markStale' | 'sizes'>;
}

export class PodProcessor {
  readonly #options: PodProcessorOptions;
  /** By pod: the latest round of processing. */
  readonly #rounds = new Map<string, object>();

  constructor(options: PodProcessorOptions) {
    this.#options = options;
  }

  /** Updates the desired state from the pod; returns what went wrong. */
  async process(pod: Pod, signal: AbortSignal): Promise<readonly string[]> {
    const { plugins, claims, labels, reconciler, operator } = this.#options;
    const { uid } = pod.metadata;
    const round = {};
    this.#rounds.set(uid, round);
    const processed = await processPod(pod, plugins, claims, signal);
    await labels.prepare(pod);
    // A later call has a newer pod; a cancelled pod may have ended.
    if (this.#rounds.get(uid) !== round) return processed.problems;
    this.#rounds.delete(uid);
    if (signal.aborted) return processed.problems;
    const { desired } = reconciler;
    const labelled = labels.labelled(processed.mounts.values(), desired, operator.actual);
    const problems = [...processed.problems, ...labelled.problems];
    for (const wanted of labelled.mounts) {
      this.#noteSize(desired.get(mountKey(wanted)), wanted);
      reconciler.want(wanted);
      if (problems.length === 0) operator.markStale(wanted);
    }
    reconciler.look();
    return problems;
  }

  #noteSize(before: WantedMount | undefined, wanted: WantedMount): void {
    if (wanted.size === undefined) return;
    const { operator, reconciler } = this.#options;
    operator.sizes.seen(wanted.uniqueName, wanted.size.claimBytes);
    if (before?.size?.progress !== wanted.size.progress) reconciler.retryResize(wanted);
  }
}
