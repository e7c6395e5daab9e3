/** Keeps the log directories of running containers held between looks: holding one anew takes ten times as many calls as a look. */
import type { HeldPath } from '../../host/index.js';

export class HeldDirectories {
  readonly #most: number;
  readonly #byContainer = new Map<string, HeldPath>();

  constructor(most: number) {
    this.#most = most;
  }

  get(containerId: string): HeldPath | undefined {
    return this.#byContainer.get(containerId);
  }

  /** Takes over the directory; it closes what is replaced, and what it has no room for. */
  async keep(containerId: string, directory: HeldPath): Promise<void> {
    const before = this.#byContainer.get(containerId);
    const surplus = before === undefined && this.#byContainer.size >= this.#most ? directory : before;
    if (surplus !== directory) this.#byContainer.set(containerId, directory);
    await surplus?.close();
  }

  /** Closes those of all other containers. */
  async keepOnly(containerIds: ReadonlySet<string>): Promise<void> {
    for (const [id, directory] of this.#byContainer) {
      if (containerIds.has(id)) continue;
      this.#byContainer.delete(id);
      await directory.close();
    }
  }
}
