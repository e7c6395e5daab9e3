/**
 * Limits how many pods end at once: some end early instead of all late, as the runtime takes the same total
 * time either way. A slow one gives up its slot and delays no other.
 */
import { type Clock, YieldingSemaphore } from '../../async/index.js';

/** A container that obeys its stop signal is gone by then, however busy the runtime is. */
const patienceMs = 1_000;
/** Only a stop this quick restores the patience: with many slow pods, each would delay the others by it. */
const usualMs = 25;
/** A sandbox is gone by then, unless its network hangs. */
const sandboxPatienceMs = 5_000;
/** Sandboxes first: their pods have already begun to end. */
const ranks = { sandbox: 0, container: 1 } as const;

/** A stop mostly waits (for processes, for the kernel), so more of them run in parallel than starts. */
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

  /** The holders of a slot. */
  get inside(): number {
    return this.#gate.inside;
  }

  /** Stops a container in a slot, which it gives up if it takes longer than usual. */
  container<T>(stop: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    return this.#gate.run(stop, { rank: ranks.container, ...(signal === undefined ? {} : { signal }) });
  }

  sandbox<T>(stop: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const turn = { rank: ranks.sandbox, patienceMs: sandboxPatienceMs };
    return this.#gate.run(stop, { ...turn, ...(signal === undefined ? {} : { signal }) });
  }
}
