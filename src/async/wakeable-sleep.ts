/** A sleep that somebody may end before its time. */
import { type Clock, isCancelled, linkedController, sleep, throwIfCancelled } from './clock.js';

export class WakeableSleep {
  #wake: () => void = () => {};

  /** Ends the sleep that is under way, if there is one. */
  wake(): void {
    this.#wake();
  }

  /** Resolves after the time, or when woken; rejects with `Cancelled` when the signal ends it. */
  async sleep(clock: Clock, durationMs: number, signal: AbortSignal): Promise<void> {
    const { controller, unlink } = linkedController(signal);
    this.#wake = () => controller.abort();
    try {
      await sleep(clock, durationMs, controller.signal);
    } catch (error) {
      throwIfCancelled(signal);
      if (!isCancelled(error)) throw error;
    } finally {
      this.#wake = () => {};
      unlink();
    }
  }
}
