/**
 * The order in which pods end when many are to end at once: some early instead of all late, as the runtime takes the same
 * time for all of them either way. Nothing that takes its time to end holds up the others.
 */
import { type Clock, YieldingSemaphore } from '../../async/index.js';

/** A container that ends when it is told to is gone by then, however busy the runtime is. */
const patienceMs = 1_000;
/** Where many pods take their time, each would hold up the others for that long, so a pod must be quick to be waited for. */
const usualMs = 25;
/** A sandbox is gone by then, unless its network hangs. */
const sandboxPatienceMs = 5_000;
/** Those that have begun to end come first. */
const ranks = { sandbox: 0, container: 1 } as const;

/** An end is more waiting than a start (for processes to go, for the kernel), so there are more at a time. */
export function endsAtOnce(startsAtOnce: number): number {
  return startsAtOnce + 2;
}

export class TerminationLimiter {
  readonly #gate: YieldingSemaphore;

  constructor({ clock, width }: { readonly clock: Clock; readonly width: number }) {
    this.#gate = new YieldingSemaphore({ clock, width, patienceMs, usualMs });
  }

  get waiting(): number {
    return this.#gate.waiting;
  }

  /** Those whose turn has not passed on. */
  get inside(): number {
    return this.#gate.inside;
  }

  /** Stops a container in its turn, which passes on when the container takes longer than others. */
  container<T>(stop: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    return this.#gate.run(stop, { rank: ranks.container, ...(signal === undefined ? {} : { signal }) });
  }

  sandbox<T>(stop: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const turn = { rank: ranks.sandbox, patienceMs: sandboxPatienceMs };
    return this.#gate.run(stop, { ...turn, ...(signal === undefined ? {} : { signal }) });
  }
}
