/** Counts the processes of one cgroup, their open files and sockets, and reads the limit of open files. */
import { BoundedMap, type Clock } from '../../async/index.js';
import type { KernelFiles } from './kernel-files.js';
import { statsLimits } from './limits.js';

export interface ProcessFigures {
  readonly firstPid: number | undefined;
  readonly processes: number;
  readonly fileDescriptors: number;
  readonly sockets: number;
  /** Of the first process; -1 for no limit, undefined if there is none to ask. */
  readonly fileDescriptorLimit: number | undefined;
}

const processId = /^[1-9]\d{0,9}$/;

/** The process ids in `cgroup.procs`. */
export function processIds(text: string): number[] {
  // Many cgroups have none of their own: those of pods, and all above them.
  if (text === '') return [];
  return text
    .split('\n')
    .filter((line) => processId.test(line))
    .map(Number);
}

export interface ProcessCountsOptions {
  readonly clock: Clock;
  readonly files: KernelFiles;
  readonly procRoot: string;
}

/** Counting the open files of a cgroup with so many costs more than all its other figures, and is not done at each scrape. */
const manyFiles = 256;
const manyFilesMs = 10_000;

interface KeptFigures {
  readonly readAt: number;
  /** What the processes had used before they were counted. */
  readonly cpuNanoSeconds: bigint;
  readonly pids: readonly number[];
  readonly figures: ProcessFigures;
}

/** What a reading of a cgroup tells of its processes. */
export interface ProcessesSeen {
  readonly cgroup: string;
  readonly pids: readonly number[];
  /** The process whose limits are told. */
  readonly firstPid: number | undefined;
  /** Of the whole cgroup, read before its processes are looked at. */
  readonly cpuNanoSeconds: bigint;
}

export class ProcessCounts {
  readonly #options: ProcessCountsOptions;
  readonly #kept = new BoundedMap<string, KeptFigures>({ maxEntries: statsLimits.cgroups });

  constructor(options: ProcessCountsOptions) {
    this.#options = options;
  }

  /** `readLimits` reads the limits of a process, given its file. */
  of(seen: ProcessesSeen, readLimits: (path: string) => string | undefined): ProcessFigures {
    const { clock, files, procRoot } = this.#options;
    const { cgroup, pids, firstPid, cpuNanoSeconds } = seen;
    const kept = this.#kept.get(cgroup);
    const readAt = clock.monotonic();
    if (kept !== undefined && firstPid === kept.figures.firstPid) {
      // Only a process that runs opens and closes files: most sandboxes never do.
      if (kept.cpuNanoSeconds === cpuNanoSeconds && areSame(kept.pids, pids)) return kept.figures;
      const hasMany = kept.figures.fileDescriptors >= manyFiles;
      if (hasMany && readAt - kept.readAt < manyFilesMs) return { ...kept.figures, processes: pids.length };
    }
    const figures = processFigures({ ...files, readLimits }, procRoot, pids, firstPid);
    const comparable = pids.length <= statsLimits.processes ? pids : [];
    this.#kept.set(cgroup, { readAt, cpuNanoSeconds, pids: comparable, figures });
    return figures;
  }

  forget(cgroup: string): void {
    this.#kept.delete(cgroup);
  }
}

function areSame(some: readonly number[], others: readonly number[]): boolean {
  return some.length === others.length && some.every((pid, at) => pid === others[at]);
}

/** Counts no more open files than are listed, see `statsLimits`. */
export function processFigures(
  files: Pick<KernelFiles, 'names' | 'link'> & { readLimits(path: string): string | undefined },
  procRoot: string,
  pids: readonly number[],
  first = pids[0],
): ProcessFigures {
  let fileDescriptors = 0;
  let sockets = 0;
  let looks = statsLimits.descriptors;
  for (const pid of pids.slice(0, statsLimits.processes)) {
    const directory = `${procRoot}/${pid}/fd`;
    const names = files.names(directory, statsLimits.listedDescriptors - fileDescriptors);
    fileDescriptors += names.length;
    const some = names.slice(0, looks);
    looks -= some.length;
    for (const name of some) if (files.link(`${directory}/${name}`)?.startsWith('socket') === true) sockets++;
  }
  const limits = first === undefined ? undefined : files.readLimits(`${procRoot}/${first}/limits`);
  return {
    firstPid: first,
    processes: pids.length,
    fileDescriptors,
    sockets,
    fileDescriptorLimit: openFilesLimit(limits ?? ''),
  };
}

/** The soft limit in `/proc/<pid>/limits`. */
export function openFilesLimit(text: string): number | undefined {
  const [, soft] = /^Max open files +(\d{1,20}|unlimited) /m.exec(text) ?? [];
  if (soft === undefined) return undefined;
  return soft === 'unlimited' ? -1 : Number(soft);
}
