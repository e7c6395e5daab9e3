/** Remembers what the agent itself removed: its delete events need no relist. */
import { BoundedMap } from '../../async/index.js';

/** Removals beyond the limit are forgotten and looked for like anybody else's. */
const limit = 1_000;

export class RecentlyRemoved {
  readonly #ids = new BoundedMap<string, true>({ maxEntries: limit });

  /** Call before the runtime call: the delete event may arrive before its response. */
  add(id: string): void {
    this.#ids.set(id, true);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
