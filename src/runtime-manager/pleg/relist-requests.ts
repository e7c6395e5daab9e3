/** The queue of pods to relist now; each pod is queued at most once. */
import type { PodRelistReason } from './relist-decision.js';

export interface RelistRequest {
  readonly uid: string;
  /** The position in the order of all requests and relists. */
  readonly order: number;
  readonly reason: PodRelistReason;
}

export interface RelistRequestsOptions {
  readonly capacity: number;
  /** Called when a request was queued. */
  readonly onRequest: () => void;
  /** Called when the queue is full. */
  readonly onOverflow: () => void;
}

export class RelistRequests {
  readonly #options: RelistRequestsOptions;
  readonly #waiting = new Map<string, RelistRequest>();
  #order = 0;

  constructor(options: RelistRequestsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /**
   * A position in the order: a relist serves every request made before it began. Timestamps will not do, as
   * two things may happen within one clock tick.
   */
  nextOrder(): number {
    return ++this.#order;
  }

  /** 'any' wins over 'own': a request that needs a list is not served by reading ids. */
  add(uid: string, reason: PodRelistReason): void {
    const waiting = this.#waiting.get(uid);
    if (waiting === undefined && this.#waiting.size >= this.#options.capacity) {
      this.#options.onOverflow();
      return;
    }
    this.#waiting.set(uid, {
      uid,
      order: this.nextOrder(),
      reason: waiting?.reason === 'any' ? 'any' : reason,
    });
    this.#options.onRequest();
  }

  /** Removes and returns all queued requests. */
  take(): readonly RelistRequest[] {
    const requests = [...this.#waiting.values()];
    this.#waiting.clear();
    return requests;
  }
}
