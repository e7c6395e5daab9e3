/** Finds the caches that some CPUs of a NUMA node share, and others of the same node do not. */
import type { Sysfs } from './sysfs.js';

/** A CPU before its cache is known. */
export interface CpuFact {
  readonly id: number;
  readonly core: number;
  readonly socket: number;
}

/**
 * By core, the id of the first cache beyond level 2 that not the whole node shares. A core without one is absent. A
 * cache that cannot be read ends the reading: later cores of the node are absent, too.
 */
export async function uncoreCaches(
  sysfs: Sysfs,
  cpusDirectory: string,
  members: readonly CpuFact[],
): Promise<ReadonlyMap<number, number>> {
  const threads = new Map<number, number>();
  for (const { core } of members) threads.set(core, (threads.get(core) ?? 0) + 1);
  const found = new Map<number, number>();
  for (const [core, threadCount] of threads) {
    const directory = `${cpusDirectory}/cpu${core}/cache`;
    try {
      for (const index of await sysfs.numbered(directory, 'index', mostCaches)) {
        const cache = `${directory}/index${index}`;
        if (found.has(core) || (await required(sysfs.number(`${cache}/level`))) <= 2) continue;
        const id = await required(sysfs.number(`${cache}/id`));
        const sharing = bitsOf(await required(sysfs.text(`${cache}/shared_cpu_map`)));
        if (sharing !== threads.size * threadCount) found.set(core, id);
      }
    } catch {
      return found;
    }
  }
  return found;
}

/** Processors have four or five. */
const mostCaches = 64;

async function required<T>(reading: Promise<T | undefined>): Promise<T> {
  const value = await reading;
  if (value === undefined) throw new Error('a file of a cache is missing');
  return value;
}

/** The number of CPUs in a map such as `00000000,0000000f`. */
function bitsOf(map: string): number {
  let count = 0;
  for (const digit of map.trim().replaceAll(',', '')) {
    const value = Number.parseInt(digit, 16);
    if (Number.isNaN(value)) throw new Error('a map of CPUs is not hexadecimal');
    for (let left = value; left !== 0; left &= left - 1) count++;
  }
  return count;
}
