/** The pods that somebody wants looked at now, each of them once however often it was asked for. */
import type { Clock, Timer } from '../../async/index.js';

export interface RelistRequest {
  readonly uid: string;
  /** Its place in the order of all requests and relists. */
  readonly order: number;
  /** Delays after which to look again while nothing is seen to have changed. */
  readonly lookAgainMs: readonly number[];
}

export interface RelistRequestsOptions {
  readonly clock: Clock;
  readonly capacity: number;
  /** Told that there is something to take. */
  readonly onRequest: () => void;
  /** Told that a request found no room. */
  readonly onOverflow: () => void;
}

export class RelistRequests {
  readonly #options: RelistRequestsOptions;
  readonly #waiting = new Map<string, RelistRequest>();
  readonly #lookingAgain = new Map<string, Timer>();
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

  add(uid: string, lookAgainMs: readonly number[] = []): void {
    const queued = this.#waiting.get(uid);
    if (queued === undefined && this.#waiting.size >= this.#options.capacity) {
      this.#options.onOverflow();
      return;
    }
    this.#waiting.set(uid, {
      uid,
      order: this.nextOrder(),
      lookAgainMs: lookAgainMs.length > 0 ? lookAgainMs : (queued?.lookAgainMs ?? []),
    });
    this.#options.onRequest();
  }

  /** Removes and returns what waits. */
  take(): readonly RelistRequest[] {
    const requests = [...this.#waiting.values()];
    this.#waiting.clear();
    return requests;
  }

  /** The look saw no change: look again after the next delay, if there is one. */
  lookAgain({ uid, lookAgainMs: [delayMs, ...rest] }: RelistRequest): void {
    if (delayMs === undefined || this.#lookingAgain.has(uid)) return;
    const timer = this.#options.clock.setTimer(delayMs, () => {
      this.#lookingAgain.delete(uid);
      this.add(uid, rest);
    });
    this.#lookingAgain.set(uid, timer);
  }

  stop(): void {
    for (const timer of this.#lookingAgain.values()) timer.cancel();
    this.#lookingAgain.clear();
    this.#waiting.clear();
  }
}
