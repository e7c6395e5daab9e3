/**
 * Looks up host names that pods chose, one at a time. A look-up holds one of Node's threads until the name server answers
 * or the resolver gives up, which takes many seconds; Node has two threads for all look-ups of the process. With both
 * held by pods, whose name servers need not answer, the agent could not find its API server.
 */
import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import { httpGetLimits } from './limits.js';

interface WaitingLookup {
  readonly isWanted: () => boolean;
  readonly start: () => void;
}

export class PodLookups {
  #waiting: WaitingLookup[] = [];
  #isBusy = false;

  /** For the options of a connection. Once nobody wants it, a look-up that waits is dropped without an answer. */
  lookup(isWanted: () => boolean): LookupFunction {
    return (hostname, options, callback) => {
      if (this.#waiting.length >= httpGetLimits.waitingLookups)
        this.#waiting = this.#waiting.filter((waiting) => waiting.isWanted());
      if (this.#waiting.length >= httpGetLimits.waitingLookups) {
        const error = new Error(
          `${this.#waiting.length} other names wait to be looked up before ${hostname}`,
        );
        process.nextTick(callback, Object.assign(error, { code: 'EAGAIN' }), '', 0);
        return;
      }
      const start = (): void =>
        dns.lookup(hostname, options, (error, address, family) => {
          this.#isBusy = false;
          this.#next();
          callback(error, address, family);
        });
      this.#waiting.push({ isWanted, start });
      this.#next();
    };
  }

  #next(): void {
    while (!this.#isBusy) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (!next.isWanted()) continue;
      this.#isBusy = true;
      next.start();
    }
  }
}

/** Of the whole process, as its threads are. */
export const podLookups = new PodLookups();
