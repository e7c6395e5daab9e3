/** Back-off for failed resizes; a change of the desired resources resets it. */
import { canonicalJson, memoryVolumeLimits, type Pod } from '../../kube/index.js';

const initialMs = 10_000;
const maxMs = 300_000;
/** The oldest pod beyond this limit is forgotten, and only retried sooner. */
const maxEntries = 10_000;

interface ResizeFailure {
  /** The resources that could not be applied. */
  readonly wanted: string;
  readonly message: string;
  readonly delayMs: number;
  readonly untilMs: number;
}

export class ResizeRetries {
  readonly #failures = new Map<string, ResizeFailure>();

  /** Why and until when the pod's resize must wait; undefined when it may be tried. */
  waiting(pod: Pod, nowMs: number): { readonly message: string; readonly untilMs: number } | undefined {
    const failure = this.#failures.get(pod.metadata.uid);
    if (failure === undefined || failure.wanted !== wantedBy(pod) || nowMs >= failure.untilMs)
      return undefined;
    return failure;
  }

  /** Whether the last resize to these resources failed, so that the pod's cgroup may have others. */
  hasFailed(pod: Pod): boolean {
    const failure = this.#failures.get(pod.metadata.uid);
    return failure !== undefined && failure.wanted === wantedBy(pod);
  }

  /** An earlier agent has left the pod's cgroup with other resources: it is tried at once. */
  left(pod: Pod): void {
    this.failed(pod, Number.NEGATIVE_INFINITY, 'an earlier agent did not finish the resize');
  }

  /** Returns the time of the next try. */
  failed(pod: Pod, nowMs: number, message: string): number {
    const uid = pod.metadata.uid;
    const wanted = wantedBy(pod);
    const before = this.#failures.get(uid);
    const delayMs = before?.wanted === wanted ? Math.min(before.delayMs * 2, maxMs) : initialMs;
    this.#failures.delete(uid);
    this.#failures.set(uid, { wanted, message, delayMs, untilMs: nowMs + delayMs });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > maxEntries && oldest !== undefined) this.#failures.delete(oldest);
    return nowMs + delayMs;
  }

  /** Call after a success, and when the pod is gone. */
  forget(uid: string): void {
    this.#failures.delete(uid);
  }
}

function wantedBy(pod: Pod): string {
  const { spec } = pod;
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  return canonicalJson([
    spec.resources ?? {},
    containers.map(({ name, resources }) => [name, resources ?? {}]),
    [...memoryVolumeLimits(pod)],
  ]);
}
