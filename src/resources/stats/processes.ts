/** Counts the processes of one cgroup, their open files and sockets, and reads the limit of open files. */
import path from 'node:path';
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

/** The process ids in `cgroup.procs`. */
export function processIds(text: string): number[] {
  return text.split('\n').flatMap((line) => (/^[1-9]\d{0,9}$/.test(line) ? Number(line) : []));
}

/** Counts no more open files than are listed, see `statsLimits`. */
export function processFigures(
  files: KernelFiles,
  procRoot: string,
  pids: readonly number[],
): ProcessFigures {
  let fileDescriptors = 0;
  let sockets = 0;
  let looks = statsLimits.descriptors;
  for (const pid of pids.slice(0, statsLimits.processes)) {
    const directory = path.join(procRoot, String(pid), 'fd');
    const names = files.names(directory, statsLimits.listedDescriptors - fileDescriptors);
    fileDescriptors += names.length;
    const some = names.slice(0, looks);
    looks -= some.length;
    for (const name of some) if (files.link(`${directory}/${name}`)?.startsWith('socket') === true) sockets++;
  }
  const [first] = pids;
  const limits = first === undefined ? undefined : files.read(path.join(procRoot, String(first), 'limits'));
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
