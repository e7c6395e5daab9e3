/** The processes of one containerd, found by their command lines: any record of them could be missing after a kill. */
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, sleep } from '../../async/index.js';
import { identify, living } from '../process/identity.js';

const pollMs = 50;

/** Ends the containerd that was started with this configuration, if any is left, and waits until it has ended. */
export async function endContainerdOf(configFile: string, clock: Clock, patienceMs: number): Promise<void> {
  const giveUpMs = clock.monotonic() + patienceMs;
  let left = (
    await processesWith((program, [flag, file]) => {
      return program === 'containerd' && flag === '--config' && file === configFile;
    })
  ).map(identify);
  for (const { pid } of left) signal(pid, 'SIGTERM');
  while (left.length > 0) {
    await sleep(clock, pollMs);
    left = [...(await living(left))];
    if (clock.monotonic() > giveUpMs) for (const { pid } of left) signal(pid, 'SIGKILL');
  }
}

/**
 * Kills the shims of the containerd at this socket, with what they run. A containerd that is killed while it starts or ends a
 * sandbox may forget its shim, and nobody can ask for it any more.
 */
export async function killShimsOf(socket: string): Promise<void> {
  const shims = await processesWith(
    (program, args) =>
      program.startsWith('containerd-shim') &&
      args.some((arg, at) => arg === socket && args[at - 1] === '-address'),
  );
  for (const shim of shims) {
    // Before the shim: its children would be init's afterwards, and unknown.
    for (const pid of [...childrenOf(shim), shim]) signal(pid, 'SIGKILL');
  }
}

async function processesWith(
  isIt: (program: string, args: readonly string[]) => boolean,
): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  return pids.filter((pid) => {
    const [program = '', ...args] = textOf(`/proc/${pid}/cmdline`).split('\0');
    return isIt(path.basename(program), args);
  });
}

function childrenOf(pid: number): readonly number[] {
  return textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

/** Empty for a process that has exited meanwhile. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It has exited by itself.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
