/**
 * A cgroup for all that a container starts. A process leaves its session, its group and its environment as it likes, but
 * no cgroup without the right to write to another: so even a daemon that cleaned up all traces is found and killed.
 *
 * It needs Linux with cgroup v2, also beside v1, and the right to make a cgroup below the agent's own, which root has. It is
 * used for nothing else: limits are not enforced. Without it only the marks that a process has not removed tell whose it
 * is, see `strays.ts`. Root in a container can leave its cgroup, as it can do anything else on the machine.
 */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Processes that fork while they are killed are killed the next time. */
const mostPasses = 100;
const passPauseMs = 10;

/** Makes this process the first one of a new cgroup, and so all that it starts; undefined where that cannot be had. */
export function enterContainerCgroup(containerId: string): string | undefined {
  const parent = ownCgroup();
  if (parent === undefined) return undefined;
  const directory = join(parent, cgroupName(containerId));
  try {
    mkdirSync(directory);
  } catch {
    // No right to, a read-only view of cgroups, or one left of a start before: then by marks alone.
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

/** Kills everything in the cgroup of a container but this process, which leaves it, and removes it as soon as it is empty. */
export async function endContainerCgroup(
  containerId: string,
  directory: string,
  pause: (ms: number) => Promise<unknown>,
): Promise<void> {
  // The place is on record; nothing but a cgroup of this container may be ended by it.
  if (basename(directory) !== cgroupName(containerId)) return;
  leave(directory);
  for (let pass = 0; pass < mostPasses; pass++) {
    const members = membersOf(directory);
    if (members === undefined) return;
    const others = members.filter((pid) => pid !== process.pid);
    for (const pid of others) kill(pid);
    // Where this process cannot leave, the agent removes it with the container.
    if (others.length === 0 && (members.length > 0 || removeCgroup(directory))) return;
    // What was killed is a member until it was waited for.
    await pause(passPauseMs);
  }
}

function leave(directory: string): void {
  if (!(membersOf(directory) ?? []).includes(process.pid)) return;
  try {
    writeFileSync(join(directory, '../cgroup.procs'), String(process.pid));
  } catch {
    // A cgroup that controls its children takes no processes of its own.
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
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone by itself.
  }
}

/** The folder of the cgroup v2 that this process is in. */
function ownCgroup(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const path = ownCgroupPath(readFileSync('/proc/self/cgroup', 'utf8'));
    const mount = cgroupMount(readFileSync('/proc/self/mountinfo', 'utf8'));
    if (path === undefined || mount === undefined) return undefined;
    // In a container of its own the mount may show a part of the hierarchy only.
    const { target, root } = mount;
    if (root !== '/' && path !== root && !path.startsWith(`${root}/`)) return undefined;
    return join(target, root === '/' ? path : path.slice(root.length));
  } catch {
    return undefined;
  }
}

/** From `0::/system.slice/nodelet.service`. */
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
