/** Waits until a state that others change is as somebody needs it. */
export class StateWaiters {
  readonly #waiters = new Set<() => void>();

  /** Rejects when the signal aborts. */
  async until(signal: AbortSignal, isDone: () => boolean): Promise<void> {
    if (isDone()) return;
    await new Promise<void>((resolve) => {
      const check = (): void => {
        if (!isDone() && !signal.aborted) return;
        this.#waiters.delete(check);
        signal.removeEventListener('abort', check);
        resolve();
      };
      this.#waiters.add(check);
      signal.addEventListener('abort', check);
    });
    signal.throwIfAborted();
  }

  /** The state has changed. */
  notify(): void {
    for (const check of [...this.#waiters]) check();
  }
}
