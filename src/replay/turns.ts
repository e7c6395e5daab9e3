/**
 * The turns of a kubelet: what comes in is let in one at a time, and each has the kubelet for itself until all that it
 * set off has come to its next wait. Recording and replaying do this the same way, so that both take the same steps.
 */
import type { Clock } from '../async/index.js';
import type { TurnTime } from './entries.js';

/** Turns that follow each other without leaving room for the rest of the process. */
const turnsAtOnce = 256;

/** Calls back when the promises that run now have come to their next wait. */
export function whenSettled(then: () => void): void {
  // Node runs ticks only when no promise has anything to do, so this tick comes after the last of them.
  queueMicrotask(() => process.nextTick(then));
}

/** A reading of the clock, as exact as it is: a timer that was set by a rounded time fires too early, and is set again. */
export function readTime(clock: Clock): TurnTime {
  return [clock.now(), clock.monotonic()];
}

export interface OpenTurn {
  readonly time: TurnTime;
}

/** Lets what comes in at any time in by turns. */
export class Turns {
  readonly #clock: Clock;
  readonly #waiting: ((turn: OpenTurn) => void)[] = [];
  #next = 0;
  #isRunning = false;
  #now: OpenTurn | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The turn that is under way; undefined while other parts of the process run. */
  get now(): OpenTurn | undefined {
    return this.#now;
  }

  enter(deliver: (turn: OpenTurn) => void): void {
    this.#waiting.push(deliver);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => this.#run(0));
  }

  #run(ran: number): void {
    const deliver = this.#waiting[this.#next++];
    if (deliver === undefined) {
      this.#waiting.length = 0;
      this.#next = 0;
      this.#isRunning = false;
      return;
    }
    const turn = { time: readTime(this.#clock) };
    this.#now = turn;
    whenSettled(() => {
      this.#now = undefined;
      if (ran + 1 < turnsAtOnce) this.#run(ran + 1);
      else setImmediate(() => this.#run(0));
    });
    deliver(turn);
  }
}
