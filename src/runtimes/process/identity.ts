/** Tells whether a process is still the one that was written down, and which boot of the machine this is. */
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { ProcessIdentity } from './container-state.js';
import { isDeadState, parseProcStat } from './proc-stat.js';

const hasProc = process.platform === 'linux';
const run = promisify(execFile);
/** The locale decides how `ps` writes a time. */
const psEnv = { PATH: '/bin:/usr/bin:/sbin:/usr/sbin', LC_ALL: 'C', TZ: 'UTC' };

/** The identity of a process right now; without a start time when it is gone already. */
export function identify(pid: number): ProcessIdentity {
  if (hasProc) return { pid, startTime: procStartTime(pid) ?? '' };
  try {
    const text = execFileSync('ps', psArguments([pid]), { env: psEnv, encoding: 'utf8' });
    return { pid, startTime: parsePs(text).get(pid) ?? '' };
  } catch {
    // ps fails when there is no such process.
    return { pid, startTime: '' };
  }
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await living([identity])).has(identity);
}

/** Those of the processes that still run and are the same ones. */
export async function living(identities: readonly ProcessIdentity[]): Promise<ReadonlySet<ProcessIdentity>> {
  const wanted = identities.filter(({ startTime }) => startTime !== '');
  if (hasProc) return new Set(wanted.filter(({ pid, startTime }) => procStartTime(pid) === startTime));
  if (wanted.length === 0) return new Set();
  const startTimes = await psStartTimes(wanted.map(({ pid }) => pid));
  return new Set(wanted.filter(({ pid, startTime }) => startTimes.get(pid) === startTime));
}

/** A text that is another one after every boot. */
export async function currentBootId(): Promise<string> {
  if (hasProc) return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const { stdout } = await run('sysctl', ['-n', 'kern.bootsessionuuid'], { env: psEnv });
  return stdout.trim();
}

/** One read of a file without a disk behind it: not worth a trip through the thread pool. */
function procStartTime(pid: number): string | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  const stat = parseProcStat(text);
  return stat === undefined || isDeadState(stat.state) ? undefined : stat.startTime;
}

async function psStartTimes(pids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  try {
    const { stdout } = await run('ps', psArguments(pids), { env: psEnv });
    return parsePs(stdout);
  } catch (error) {
    // ps exits with 1 when one of the processes is gone, and still tells of the others.
    if (error instanceof Error && 'stdout' in error && 'code' in error && error.code === 1)
      return parsePs(String(error.stdout));
    throw error;
  }
}

function psArguments(pids: readonly number[]): string[] {
  return ['-o', 'pid=,stat=,lstart=', '-p', pids.join(',')];
}

/** Lines of process number, state and start time, as `ps -o pid=,stat=,lstart=` writes them. */
export function parsePs(text: string): ReadonlyMap<number, string> {
  const startTimes = new Map<number, string>();
  for (const line of text.split('\n')) {
    const match = /^\s*(\d+)\s+(\S+)\s+(.*\S)\s*$/.exec(line);
    if (match === null) continue;
    const [, pid = '', state = '', startTime = ''] = match;
    if (!isDeadState(state)) startTimes.set(Number(pid), startTime.replace(/\s+/g, ' '));
  }
  return startTimes;
}
