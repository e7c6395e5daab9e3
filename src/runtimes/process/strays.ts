/**
 * Kills what a container left outside of its process group: daemons with their own session, and exec
 * commands. They carry the container's id in their environment, which only Linux shows to others; elsewhere
 * such processes outlive their container.
 *
 * A process that cleans its environment (`env -i setsid …`) is not found this way. As root on Linux the
 * container's cgroup holds it, see `container-cgroup.ts`; without root it outlives its container.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { containerIdVariable } from './container-state.js';

/** Processes that fork during a pass are found in the next. */
const mostPasses = 5;

/** Returns how many processes were killed. */
export function killStrays(containerId: string): number {
  if (process.platform !== 'linux') return 0;
  const mark = Buffer.from(`${containerIdVariable}=${containerId}\0`);
  let killed = 0;
  for (let pass = 0; pass < mostPasses; pass++) {
    const found = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && carries(name, mark));
    const hit = found.filter((name) => Number(name) !== process.pid && kill(Number(name)));
    killed += hit.length;
    if (hit.length === 0) break;
  }
  return killed;
}

function carries(pid: string, mark: Buffer): boolean {
  let environment: Buffer;
  try {
    environment = readFileSync(`/proc/${pid}/environ`);
  } catch {
    // Gone, or another user's and so not ours.
    return false;
  }
  const at = environment.indexOf(mark);
  return at === 0 || (at > 0 && environment[at - 1] === 0);
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
