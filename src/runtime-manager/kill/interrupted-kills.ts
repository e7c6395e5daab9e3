/** How far kills of containers had come when they were cancelled, so that the next kill goes on from there. */

/** At most this many are remembered; a forgotten one only runs its hook again. */
const maxEntries = 10_000;

export interface KillProgress {
  /** Whether the `Killing` event was told. */
  isAnnounced?: boolean;
  /** Resolves when the preStop hook, once started, has ended. */
  preStop?: Promise<void>;
}

export class InterruptedKills {
  readonly #byContainer = new Map<string, KillProgress>();

  /** The progress of the last, cancelled kill of the container, which is forgotten by this. */
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

  /** Forgets containers that are gone. */
  forget(containerIds: Iterable<string>): void {
    for (const id of containerIds) this.#byContainer.delete(id);
  }

  get size(): number {
    return this.#byContainer.size;
  }
}
