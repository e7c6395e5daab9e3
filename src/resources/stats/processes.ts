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

export class ProcessCounts {
  readonly #options: ProcessCountsOptions;
  /** Of cgroups with many open files. */
  readonly #kept = new BoundedMap<string, { readonly readAt: number; readonly figures: ProcessFigures }>({
    maxEntries: statsLimits.cgroups,
  });

  constructor(options: ProcessCountsOptions) {
    this.#options = options;
  }

  /** `readLimits` reads the limits of a process, given its file. */
  of(
    cgroup: string,
    pids: readonly number[],
    readLimits: (path: string) => string | undefined,
  ): ProcessFigures {
    const { clock, files, procRoot } = this.#options;
    const readAt = clock.monotonic();
    const kept = this.#kept.get(cgroup);
    if (kept !== undefined && readAt - kept.readAt < manyFilesMs && pids[0] === kept.figures.firstPid) {
      return { ...kept.figures, processes: pids.length };
    }
    const figures = processFigures({ ...files, readLimits }, procRoot, pids);
    if (figures.fileDescriptors < manyFiles) this.#kept.delete(cgroup);
    else this.#kept.set(cgroup, { readAt, figures });
    return figures;
  }
}

/** Counts no more open files than are listed, see `statsLimits`. */
export function processFigures(
  files: Pick<KernelFiles, 'names' | 'link'> & { readLimits(path: string): string | undefined },
  procRoot: string,
  pids: readonly number[],
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
  const [first] = pids;
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
