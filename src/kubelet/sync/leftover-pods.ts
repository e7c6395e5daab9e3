/**
 * Pods that ran when the kubelet started and that no source has: of another cluster that the machine belonged to, or deleted
 * while no kubelet ran. Housekeeping ends them. New pods wait for that, so that nothing that both claim is used twice.
 */
import { type Clock, isCancelled, sleep } from '../../async/index.js';
import type { ObservedPod } from '../../cri/index.js';
import { isStaticPod, type Pod } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import { isRunning } from './housekeeping.js';

export interface LeftoverPodsOptions {
  readonly clock: Clock;
  readonly timeline: Pick<Timeline, 'record'>;
  /** The pods that the last observation showed; cheap. */
  readonly observedPods: () => readonly ObservedPod[];
  readonly isConfigured: (uid: string) => boolean;
  /** What is left is ended only then. */
  readonly allSourcesReady: () => boolean;
  /** Ends the wait with the kubelet. */
  readonly signal: AbortSignal;
}

const lookMs = 100;
/** They have a second to stop; a runtime that cannot stop them shall not keep the node from its pods. */
const patienceMs = 30_000;

export class LeftoverPods {
  readonly #options: LeftoverPodsOptions;
  /** Those of the first observation that are left; undefined before it. */
  #uids: ReadonlySet<string> | undefined;
  #isSettled = false;
  #wait: Promise<void> | undefined;

  constructor(options: LeftoverPodsOptions) {
    this.#options = options;
  }

  /** Resolves when the pod can be judged; undefined when that is now. */
  before(pod: Pod): Promise<void> | undefined {
    if (this.#isSettled) return undefined;
    const { allSourcesReady } = this.#options;
    const left = this.#left();
    if (left.length === 0) {
      this.#isSettled = allSourcesReady();
      return undefined;
    }
    // It may be what serves the API that the others are to come from.
    if (isStaticPod(pod) && !allSourcesReady()) return undefined;
    this.#wait ??= this.#untilEnded(left);
    return this.#wait;
  }

  #left(): ObservedPod[] {
    const { observedPods, isConfigured } = this.#options;
    const running = observedPods().filter(isRunning);
    const first = this.#uids;
    const left = running.filter(({ uid }) => first?.has(uid) !== false && !isConfigured(uid));
    // A pod that a source has had once is ended by its worker.
    this.#uids = new Set(left.map(({ uid }) => uid));
    return left;
  }

  async #untilEnded(first: readonly ObservedPod[]): Promise<void> {
    const { clock, timeline, signal } = this.#options;
    const names = first.map(({ namespace, name }) => `${namespace}/${name}`).join(', ');
    timeline.record({
      kind: 'decision',
      what: 'pod.orphan',
      message: 'new pods wait until what an earlier kubelet has left is ended',
      because: `no source has these pods, which still run: ${names}`,
    });
    const untilMs = clock.monotonic() + patienceMs;
    let left = first;
    try {
      while (left.length > 0 && clock.monotonic() < untilMs) {
        await sleep(clock, lookMs, signal);
        left = this.#left();
      }
    } catch (error) {
      if (!isCancelled(error)) throw error;
      return;
    }
    this.#isSettled = true;
    if (left.length === 0) return;
    timeline.record({
      kind: 'problem',
      what: 'pod.orphan',
      message: `${left.length} of them still run after ${patienceMs / 1000} s; new pods start beside them`,
    });
  }
}
