/** Ends and removes the cgroups of one test, in every mounted hierarchy, and touches no other. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listMounts } from './mounts.js';
import { pollUntil } from './poll.js';
import { killProcesses, type ProcessInfo, readProcess } from './processes.js';
import { ifThere, removeIfEmpty } from './vanishing.js';

/** Where cgroup hierarchies are mounted: one for each controller with cgroup v1, one in all with v2. */
function hierarchies(): string[] {
  const roots = listMounts().filter(({ fsType }) => fsType === 'cgroup' || fsType === 'cgroup2');
  return [...new Set(roots.map(({ mountPoint }) => mountPoint))];
}

/** Where the cgroup exists, one directory for each hierarchy. */
export function cgroupDirectories(cgroup: string): string[] {
  const parts = cgroup.split('/').filter((part) => part !== '');
  if (parts.length === 0 || parts.includes('..')) {
    throw new Error(`refusing to touch the cgroup ${JSON.stringify(cgroup)}`);
  }
  return hierarchies()
    .map((root) => join(root, ...parts))
    .filter((directory) => existsSync(directory));
}

/** A cgroup directory and all below it, the deepest first. */
function withChildren(directory: string): string[] {
  const children = ifThere(() => readdirSync(directory, { withFileTypes: true })) ?? [];
  const below = children.filter((entry) => entry.isDirectory());
  return [...below.flatMap((entry) => withChildren(join(directory, entry.name))), directory];
}

/** The live processes in this cgroup and those below it. */
export function processesInCgroup(cgroup: string): ProcessInfo[] {
  const found = new Map<number, ProcessInfo>();
  for (const directory of cgroupDirectories(cgroup).flatMap(withChildren)) {
    const pids = ifThere(() => readFileSync(join(directory, 'cgroup.procs'), 'utf8')) ?? '';
    for (const pid of pids.split('\n').map(Number)) {
      const info = pid > 0 && !found.has(pid) ? readProcess(pid) : undefined;
      if (info !== undefined) {
        found.set(pid, info);
      }
    }
  }
  return [...found.values()];
}

/** Lets what is frozen in the cgroup and those below it run on, as it could not even die. */
export function thawCgroup(cgroup: string): void {
  for (const directory of cgroupDirectories(cgroup).flatMap(withChildren)) {
    for (const [file, thawed] of [
      ['freezer.state', 'THAWED'],
      ['cgroup.freeze', '0'],
    ] as const) {
      if (existsSync(join(directory, file))) {
        ifThere(() => writeFileSync(join(directory, file), thawed));
      }
    }
  }
}

/** Ends every process in the cgroup and those below it. */
export async function killCgroup(cgroup: string): Promise<void> {
  await killProcesses(processesInCgroup(cgroup), { release: () => thawCgroup(cgroup) });
}

/** Ends what runs in the cgroup, then removes it and all below it. */
export async function removeCgroup(cgroup: string): Promise<void> {
  await killCgroup(cgroup);
  // The kernel lets go of a cgroup a moment after its last process.
  await pollUntil(
    `the cgroup ${cgroup} is removed`,
    () =>
      cgroupDirectories(cgroup).flatMap(withChildren).map(removeIfEmpty).every(Boolean) ? true : undefined,
    { timeoutMs: 10_000 },
  );
}

/** Removes a cgroup that others may share, if nothing is left in it. */
export function removeCgroupIfEmpty(cgroup: string): void {
  cgroupDirectories(cgroup).map(removeIfEmpty);
}
