/** What the agent itself has had removed: nobody has to look for it when the runtime tells that it is gone. */
import { BoundedMap } from '../../async/index.js';

/** What is forgotten beyond it is looked for like what others removed. */
const limit = 1_000;

export class RecentlyRemoved {
  readonly #ids = new BoundedMap<string, true>({ maxEntries: limit });

  /** Before the runtime is asked for it, as it may tell of it before it answers. */
  add(id: string): void {
    this.#ids.set(id, true);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
