/** Tells whether a process is still the recorded one, and which boot this is. */
import { readFileSync } from 'node:fs';
import { systemClock } from '../../async/clock.js';
import { checkedWord, processIds } from '../../programs/checked-word.js';
import { CommandLine } from '../../programs/command-line.js';
import { endText, runProgram, runProgramSync } from '../../programs/run.js';
import type { ProcessIdentity } from './container-state.js';
import { isDeadState, parseProcStat } from './proc-stat.js';

const hasProc = process.platform === 'linux';
/** The locale determines how `ps` prints times. */
const psEnv = { PATH: '/bin:/usr/bin:/sbin:/usr/sbin', LC_ALL: 'C', TZ: 'UTC' };
const limits = { clock: systemClock, limitMs: 10_000, outputLimitBytes: 4 << 20, env: psEnv };

/** The current identity of a process; without a start time if it is gone already. */
export function identify(pid: number): ProcessIdentity {
  if (hasProc) return { pid, startTime: procStartTime(pid) ?? '' };
  // ps fails when there is no such process.
  const text = runProgramSync(psCommand([pid]), limits) ?? '';
  return { pid, startTime: parsePs(text).get(pid) ?? '' };
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await living([identity])).has(identity);
}

/** Those of the processes that are still running and the same. */
export async function living(identities: readonly ProcessIdentity[]): Promise<ReadonlySet<ProcessIdentity>> {
  const wanted = identities.filter(({ startTime }) => startTime !== '');
  if (hasProc) return new Set(wanted.filter(({ pid, startTime }) => procStartTime(pid) === startTime));
  if (wanted.length === 0) return new Set();
  const startTimes = await psStartTimes(wanted.map(({ pid }) => pid));
  return new Set(wanted.filter(({ pid, startTime }) => startTimes.get(pid) === startTime));
}

/** A text that changes with every boot. */
export async function currentBootId(): Promise<string> {
  if (hasProc) return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const end = await runProgram(CommandLine.of('sysctl').literal('-n', 'kern.bootsessionuuid'), limits);
  if (end.kind !== 'exited' || end.exitCode !== 0)
    throw new Error(`sysctl does not report the boot: ${endText(end)}`);
  return end.stdout.trim();
}

/** A file without a disk behind it: not worth a thread-pool round trip. */
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
  const end = await runProgram(psCommand(pids), limits);
  // ps exits with 1 when one of the processes is gone, but still prints the others.
  if (end.kind === 'exited' && end.exitCode <= 1) return parsePs(end.stdout);
  throw new Error(`ps does not list the running processes: ${endText(end)}`);
}

function psCommand(pids: readonly number[]): CommandLine {
  const ids = checkedWord(processIds, 'process ids', pids.join(','));
  return CommandLine.of('ps').literal('-o', 'pid=,stat=,lstart=').optionWord('-p', ids);
}

/** Parses lines of pid, state and start time, as `ps -o pid=,stat=,lstart=` prints them. */
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
