/** Lists cgroups below given ones. What a directory held is remembered: to list one costs far more than to see that it is unchanged. */
import { BoundedMap } from '../../async/index.js';
import type { KernelFiles } from './kernel-files.js';
import { statsLimits } from './limits.js';

export interface CgroupListingOptions {
  readonly files: Pick<KernelFiles, 'directories' | 'links'>;
  /** The directory that cgroups are looked for in; undefined where the machine has none. */
  readonly directoryOf: (cgroup: string) => string | undefined;
}

const root = '/';

export class CgroupListing {
  readonly #options: CgroupListingOptions;
  /** The names in a directory. */
  readonly #known = new BoundedMap<string, readonly string[]>({ maxEntries: statsLimits.cgroups });

  /** Of one listing: each directory is looked at once. */
  readonly #links = new Map<string, number | undefined>();

  constructor(options: CgroupListingOptions) {
    this.#options = options;
  }

  /** The given cgroups and all below them that are there, level by level from the top, up to a limit. */
  list(tops: readonly string[]): string[] {
    this.#links.clear();
    const found = new Set<string>();
    let level = tops;
    for (let depth = 0; depth <= statsLimits.depth && level.length > 0; depth++) {
      const next: string[] = [];
      for (const cgroup of level) {
        if (found.size === statsLimits.cgroups) return [...found];
        if (found.has(cgroup)) continue;
        const links = this.#linksOf(cgroup);
        if (links === undefined) continue;
        found.add(cgroup);
        if (cgroup === root) continue;
        for (const name of this.#names(cgroup, links))
          if (!name.endsWith('.mount')) next.push(`${cgroup}/${name}`);
      }
      level = next;
    }
    return [...found];
  }

  forget(cgroup: string): void {
    this.#known.delete(cgroup);
  }

  #linksOf(cgroup: string): number | undefined {
    if (this.#links.has(cgroup)) return this.#links.get(cgroup);
    const directory = this.#options.directoryOf(cgroup);
    const links = directory === undefined ? undefined : this.#options.files.links(directory);
    this.#links.set(cgroup, links);
    return links;
  }

  /**
   * A directory has a link for its name, its own `.` and the `..` of each directory in it. As many as before, all of which are
   * still there, are the same. Some file systems do not count: their directories are listed each time.
   */
  #names(cgroup: string, links: number): readonly string[] {
    if (links === 2) return [];
    const known = this.#known.get(cgroup);
    const isSame =
      known !== undefined &&
      links === known.length + 2 &&
      known.every((name) => this.#linksOf(`${cgroup}/${name}`) !== undefined);
    if (isSame) return known;
    const directory = this.#options.directoryOf(cgroup);
    const names = directory === undefined ? [] : this.#options.files.directories(directory);
    this.#known.set(cgroup, names);
    return names;
  }
}
