/** A sleep that can be woken early. */
import { type Clock, isCancelled, linkedController, sleep, throwIfCancelled } from './clock.js';

export class WakeableSleep {
  #wake: () => void = () => {};

  /** Ends the current sleep, if any. */
  wake(): void {
    this.#wake();
  }

  /** Resolves after the duration or when woken; rejects with `Cancelled` when the signal aborts. */
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
