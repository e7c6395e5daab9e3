/** How often the kernel killed for want of memory in each cgroup, since the oldest record that its log still had. */
import { BoundedMap } from '../../async/index.js';

/** More than the containers of a node; beyond it the cgroup without kills for longest is forgotten. */
export const maxCountedCgroups = 4_096;

export class OomCounts {
  readonly #counts = new BoundedMap<string, number>({ maxEntries: maxCountedCgroups });

  get size(): number {
    return this.#counts.size;
  }

  add(cgroup: string): void {
    this.#counts.set(cgroup, this.of(cgroup) + 1);
  }

  of(cgroup: string): number {
    return this.#counts.get(cgroup) ?? 0;
  }

  /** Forgets the cgroups that are gone: nobody shows their counts again. */
  keep(isThere: (cgroup: string) => boolean): void {
    for (const cgroup of [...this.#counts.keys()]) if (!isThere(cgroup)) this.#counts.delete(cgroup);
  }
}
