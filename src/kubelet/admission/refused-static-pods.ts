/** Remembers the static pods that were refused, and has them judged again when what they lack may be there. */
import type { Clock } from '../../async/index.js';
import { isStaticPod, type Node, type Pod, type Quantity } from '../../kube/index.js';
import { hasShrunk } from '../../resources/allocation/index.js';
import { type RefusedBefore, remedyOf, retryDecision } from './retry-refused.js';

export interface RefusedStaticPodsOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly isConfigured: (uid: string) => boolean;
  readonly node: () => Node | undefined;
  /** What the active pods have, by UID. */
  readonly used: () => UsedByPods;
}

export type UsedByPods = ReadonlyMap<string, ReadonlyMap<string, Quantity>>;

export interface DueRetry {
  readonly uid: string;
  readonly because: string;
}

/** Holds no more pods than are configured. */
export class RefusedStaticPods {
  readonly #options: RefusedStaticPodsOptions;
  readonly #refused = new Map<string, RefusedBefore>();
  #roomAtMs: number | undefined;
  #nodeAtMs: number | undefined;
  /** What pods are judged by, as it was when last looked at. */
  #node: string | undefined;
  #used: UsedByPods = new Map();

  constructor(options: RefusedStaticPodsOptions) {
    this.#options = options;
  }

  refused(pod: Pod, reason: string): void {
    if (!isStaticPod(pod)) return;
    const { uid } = pod.metadata;
    if (this.#refused.size === 0) {
      this.#node = facts(this.#options.node());
      this.#used = this.#options.used();
    }
    this.#refused.set(uid, {
      remedy: remedyOf(reason),
      refusals: (this.#refused.get(uid)?.refusals ?? 0) + 1,
      refusedAtMs: this.#options.clock.monotonic(),
    });
  }

  admitted(uid: string): void {
    this.#refused.delete(uid);
  }

  /** All that a pod had is released, which may be later than its end. */
  roomAppeared(): void {
    this.#roomAtMs = this.#options.clock.monotonic();
  }

  /** Whether a pod waits to be judged again. */
  get areAny(): boolean {
    return this.#refused.size > 0;
  }

  /** The pods to judge again now. Cheap while none was refused. */
  due(): readonly DueRetry[] {
    const { clock, isConfigured, node, used: usedNow } = this.#options;
    for (const uid of [...this.#refused.keys()]) if (!isConfigured(uid)) this.#refused.delete(uid);
    if (this.#refused.size === 0) return [];
    const nowMs = clock.monotonic();
    const now = facts(node());
    if (now !== this.#node) this.#nodeAtMs = nowMs;
    this.#node = now;
    const used = usedNow();
    if (hasRoomAppeared(this.#used, used)) this.#roomAtMs = nowMs;
    this.#used = used;
    const changes = { roomAtMs: this.#roomAtMs, nodeAtMs: this.#nodeAtMs };
    return [...this.#refused].flatMap(([uid, before]) => {
      const decision = retryDecision(before, changes, nowMs);
      return decision.kind === 'now' ? [{ uid, because: decision.because }] : [];
    });
  }
}

/** A pod has ended, was removed, or needs less. */
export function hasRoomAppeared(before: UsedByPods, now: UsedByPods): boolean {
  return [...before].some(([uid, had]) => {
    const has = now.get(uid);
    return has === undefined || hasShrunk(had, has);
  });
}

function facts(node: Node | undefined): string {
  return JSON.stringify([node?.metadata.labels, node?.spec?.taints, node?.status?.allocatable]);
}
