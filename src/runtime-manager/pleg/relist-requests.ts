/** The pods that somebody wants looked at now, each of them once however often it was asked for. */
import type { LookReason } from './relist-decision.js';

export interface RelistRequest {
  readonly uid: string;
  /** Its place in the order of all requests and relists. */
  readonly order: number;
  readonly reason: LookReason;
}

export interface RelistRequestsOptions {
  readonly capacity: number;
  /** Told that there is something to take. */
  readonly onRequest: () => void;
  /** Told that a request found no room. */
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
   * A place in the order: requests made before a look at everything began are answered by it. Times
   * would not do, as two things may happen within one tick of the clock.
   */
  nextOrder(): number {
    return ++this.#order;
  }

  /** What needs a list is not answered by less, whoever asks for that as well. */
  add(uid: string, reason: LookReason): void {
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

  /** Removes and returns what waits. */
  take(): readonly RelistRequest[] {
    const requests = [...this.#waiting.values()];
    this.#waiting.clear();
    return requests;
  }
}
