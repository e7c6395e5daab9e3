/** The pods whose resize waits, in the order in which they are tried. */
import { compareQuantities, type Pod, podRequests, qosClass, zeroQuantity } from '../../kube/index.js';

/** What decides the place of a pod. */
export interface ResizeRank {
  /** Neither CPU nor memory grows: such a resize makes room for others. */
  readonly frees: boolean;
  readonly priority: number;
  readonly isGuaranteed: boolean;
  /** Since when its resize waits; undefined if it was never tried. */
  readonly pendingSinceMs: number | undefined;
}

export function resizeRank(desired: Pod, allocated: Pod, pendingSinceMs: number | undefined): ResizeRank {
  const [wanted, given] = [podRequests(desired), podRequests(allocated)];
  const grows = ['cpu', 'memory'].some(
    (name) => compareQuantities(wanted.get(name) ?? zeroQuantity, given.get(name) ?? zeroQuantity) > 0,
  );
  return {
    frees: !grows,
    priority: desired.spec.priority ?? 0,
    isGuaranteed: qosClass(desired) === 'Guaranteed',
    pendingSinceMs,
  };
}

export function compareRanks(a: ResizeRank, b: ResizeRank): number {
  if (a.frees !== b.frees) return a.frees ? -1 : 1;
  if (a.frees) return 0;
  if (a.priority !== b.priority) return b.priority - a.priority;
  if (a.isGuaranteed !== b.isGuaranteed) return a.isGuaranteed ? -1 : 1;
  return sinceMs(a) - sinceMs(b);
}

function sinceMs({ pendingSinceMs = Number.MAX_SAFE_INTEGER }: ResizeRank): number {
  return pendingSinceMs;
}

/** First: who tries it forgets it. */
const rankOfGone: ResizeRank = {
  frees: true,
  priority: 0,
  isGuaranteed: false,
  pendingSinceMs: undefined,
};

export class ResizeQueue {
  #uids: string[] = [];
  #hasNew = false;

  /** A pod that waits already keeps its place; a new one has all of them sorted when they are tried next. */
  add(uid: string): void {
    if (this.#uids.includes(uid)) return;
    this.#uids.push(uid);
    this.#hasNew = true;
  }

  remove(uid: string): void {
    this.#uids = this.#uids.filter((one) => one !== uid);
  }

  has(uid: string): boolean {
    return this.#uids.includes(uid);
  }

  get size(): number {
    return this.#uids.length;
  }

  /** In the order in which they are to be tried. A pod that is gone has no rank. */
  inOrder(rankOf: (uid: string) => ResizeRank | undefined): readonly string[] {
    if (this.#hasNew) {
      const ranked = this.#uids.map((uid) => ({ uid, rank: rankOf(uid) ?? rankOfGone }));
      this.#uids = ranked.sort((a, b) => compareRanks(a.rank, b.rank)).map(({ uid }) => uid);
      this.#hasNew = false;
    }
    return [...this.#uids];
  }
}
