/** The progress of cancelled container kills, so that the next kill goes on from there. */

/** The oldest entry beyond this limit is forgotten, and only runs its hook again. */
const maxEntries = 10_000;

export interface KillProgress {
  /** Whether the `Killing` event was recorded. */
  isAnnounced?: boolean;
  /** Resolves when the preStop hook, once started, has ended. */
  preStop?: Promise<void>;
}

export class InterruptedKills {
  readonly #byContainer = new Map<string, KillProgress>();

  /** Removes and returns the progress of the container's last, cancelled kill. */
  take(containerId: string): KillProgress | undefined {
    const progress = this.#byContainer.get(containerId);
    this.#byContainer.delete(containerId);
    return progress;
  }

  put(containerId: string, progress: KillProgress): void {
    this.#byContainer.set(containerId, progress);
    if (this.#byContainer.size <= maxEntries) return;
    const [oldest] = this.#byContainer.keys();
    if (oldest !== undefined) this.#byContainer.delete(oldest);
  }

  /** Forgets removed containers. */
  forget(containerIds: Iterable<string>): void {
    for (const id of containerIds) this.#byContainer.delete(id);
  }

  get size(): number {
    return this.#byContainer.size;
  }
}
