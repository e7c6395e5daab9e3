/** The queue of statuses to write to the API. */
import type { Clock } from '../../async/index.js';
import { dueMs, type LastWrites, type UnhurriedTimes } from './api-sync-decisions.js';

export interface WantedWrite {
  /** Whether to read the API's copy first. Such a write does not wait. Default: no. */
  readonly isReadFirst?: boolean;
  /** Whether somebody waits for it. */
  readonly isUrgent: boolean;
  /** Whether the pod is being deleted. Default: no. */
  readonly isEnding?: boolean;
}

export type StatusQueueDecision =
  | { readonly kind: 'write'; readonly uid: string; readonly isReadFirst: boolean }
  /** Nothing is due before this time, unless another status comes; infinite when the queue is empty. */
  | { readonly kind: 'wait'; readonly untilMs: number };

interface QueuedStatusWrite extends Required<WantedWrite>, UnhurriedTimes {}

export class StatusQueue {
  readonly #clock: Clock;
  /** By UID, the latest last. */
  readonly #waiting = new Map<string, QueuedStatusWrite>();
  #last: LastWrites = { urgentMs: Number.NEGATIVE_INFINITY, unhurriedMs: Number.NEGATIVE_INFINITY };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#waiting.size;
  }

  has(uid: string): boolean {
    return this.#waiting.has(uid);
  }

  add(uid: string, { isReadFirst = false, isUrgent, isEnding = false }: WantedWrite): void {
    const before = this.#waiting.get(uid);
    const nowMs = this.#clock.monotonic();
    this.#waiting.set(uid, {
      isReadFirst: isReadFirst || before?.isReadFirst === true,
      isUrgent: isUrgent || before?.isUrgent === true,
      isEnding: isEnding || before?.isEnding === true,
      sinceMs: before?.sinceMs ?? nowMs,
      changedMs: nowMs,
    });
  }

  /**
   * Takes the most urgent status, else one that is due. Those that `isHeld` names stay. The lowest `rankOf`
   * goes first; undefined means that the write is no longer needed.
   */
  take(
    isHeld: (uid: string) => boolean,
    rankOf: (uid: string, isReadFirst: boolean) => number | undefined,
  ): StatusQueueDecision {
    const nowMs = this.#clock.monotonic();
    let best: string | undefined;
    let bestRank = Number.POSITIVE_INFINITY;
    let unhurried: string | undefined;
    let untilMs = Number.POSITIVE_INFINITY;
    for (const [uid, waiting] of this.#waiting) {
      if (isHeld(uid)) continue;
      const { isReadFirst, isUrgent } = waiting;
      if (isUrgent || isReadFirst) {
        const rank = rankOf(uid, isReadFirst);
        if (rank === undefined) this.#waiting.delete(uid);
        else if (rank < bestRank) [best, bestRank] = [uid, rank];
      } else if (best === undefined) {
        const whenMs = dueMs(waiting, this.#last);
        // Prefer the latest: their pods start or stop last, so their statuses stay true for longest.
        if (whenMs <= nowMs) unhurried = uid;
        untilMs = Math.min(untilMs, whenMs);
      }
    }
    if (best !== undefined) {
      this.#last = { ...this.#last, urgentMs: nowMs };
      return this.#go(best);
    }
    if (unhurried === undefined) return { kind: 'wait', untilMs };
    if (rankOf(unhurried, false) === undefined) {
      this.#waiting.delete(unhurried);
      return this.take(isHeld, rankOf);
    }
    this.#last = { ...this.#last, unhurriedMs: nowMs };
    return this.#go(unhurried);
  }

  #go(uid: string): StatusQueueDecision {
    const isReadFirst = this.#waiting.get(uid)?.isReadFirst === true;
    this.#waiting.delete(uid);
    return { kind: 'write', uid, isReadFirst };
  }
}
