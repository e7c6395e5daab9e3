/**
 * A cgroup for everything that a container starts. A process can leave its session, its group and its
 * environment, but not its cgroup without the right to write to another: so even a daemon that hid all traces
 * is found and killed.
 *
 * It needs Linux with cgroup v2, also beside v1, and the right to create a cgroup below the agent's own,
 * which root has. It is used for nothing else: limits are not enforced. Without it only the marks that a
 * process has not removed identify it, see `strays.ts`. Root in a container can leave its cgroup, as it can
 * do anything else on the machine.
 */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Processes that fork during a pass are killed in the next. */
const mostPasses = 100;
const passPauseMs = 10;

/** Moves this process, and so all that it starts, into a new cgroup; undefined where that is impossible. */
export function enterContainerCgroup(containerId: string): string | undefined {
  const parent = ownCgroup();
  if (parent === undefined) return undefined;
  const directory = join(parent, cgroupName(containerId));
  try {
    mkdirSync(directory);
  } catch {
    // No permission, a read-only cgroup mount, or a leftover of an earlier start: fall back to marks.
    return undefined;
  }
  try {
    writeFileSync(join(directory, 'cgroup.procs'), String(process.pid));
    return directory;
  } catch {
    removeCgroup(directory);
    return undefined;
  }
}

function cgroupName(containerId: string): string {
  return `nodelet-${containerId.slice(0, 32)}`;
}

/**
 * Moves this process out of the container's cgroup, kills everything else in it and removes it once it is
 * empty.
 */
export async function endContainerCgroup(
  containerId: string,
  directory: string,
  pause: (ms: number) => Promise<unknown>,
): Promise<void> {
  // The path is on record; it must not end anything but this container's cgroup.
  if (basename(directory) !== cgroupName(containerId)) return;
  leave(directory);
  for (let pass = 0; pass < mostPasses; pass++) {
    const members = membersOf(directory);
    if (members === undefined) return;
    const others = members.filter((pid) => pid !== process.pid);
    for (const pid of others) kill(pid);
    // If this process cannot leave, the agent removes the cgroup with the container.
    if (others.length === 0 && (members.length > 0 || removeCgroup(directory))) return;
    // A killed process stays a member until it is reaped.
    await pause(passPauseMs);
  }
}

function leave(directory: string): void {
  if (!(membersOf(directory) ?? []).includes(process.pid)) return;
  try {
    writeFileSync(join(directory, '../cgroup.procs'), String(process.pid));
  } catch {
    // A cgroup that controls its children accepts no processes of its own.
  }
}

/** Undefined when there is no such cgroup. */
function membersOf(directory: string): number[] | undefined {
  try {
    return readFileSync(join(directory, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    return undefined;
  }
}

function removeCgroup(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch {
    return false;
  }
}

function kill(pid: number): void {
  // The kernel lists a process of a PID namespace that is not ours as 0, and a signal to 0 would hit ourselves.
  if (!(pid > 0)) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone by itself.
  }
}

/** The cgroup v2 directory of this process. */
function ownCgroup(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const path = ownCgroupPath(readFileSync('/proc/self/cgroup', 'utf8'));
    const mount = cgroupMount(readFileSync('/proc/self/mountinfo', 'utf8'));
    if (path === undefined || mount === undefined) return undefined;
    // Inside a container the mount may show only a part of the hierarchy.
    const { target, root } = mount;
    if (root !== '/' && path !== root && !path.startsWith(`${root}/`)) return undefined;
    return join(target, root === '/' ? path : path.slice(root.length));
  } catch {
    return undefined;
  }
}

/** Parses `0::/system.slice/nodelet.service`. */
export function ownCgroupPath(text: string): string | undefined {
  return /^0::(\/.*)$/m.exec(text)?.[1];
}

/** Where the hierarchy of cgroup v2 is mounted. */
export function cgroupMount(
  mountinfo: string,
): { readonly target: string; readonly root: string } | undefined {
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root, target] = before.split(' ');
    if (after.startsWith('cgroup2 ') && root !== undefined && target !== undefined) return { root, target };
  }
  return undefined;
}
