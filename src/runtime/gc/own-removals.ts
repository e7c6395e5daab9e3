/** What the agent itself has had removed: nobody has to look for it when the runtime tells that it is gone. */

/** What is forgotten beyond it is looked for like what others removed. */
const limit = 1_000;

export class OwnRemovals {
  readonly #ids = new Set<string>();

  /** Before the runtime is asked for it, as it may tell of it before it answers. */
  add(id: string): void {
    this.#ids.add(id);
    if (this.#ids.size <= limit) return;
    for (const oldest of this.#ids) {
      this.#ids.delete(oldest);
      break;
    }
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
