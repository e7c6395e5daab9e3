/** Finds processes by what they were started with and ends them by id, so that nothing is ever killed by name alone. */
import { readdirSync, readFileSync } from 'node:fs';
import { pollUntil } from './poll.js';
import { ifThere } from './vanishing.js';

export interface ProcessInfo {
  readonly pid: number;
  readonly parentPid: number;
  /** Clock ticks from boot to start: with the pid it names one process for ever, as pids are used again. */
  readonly startTicks: string;
  readonly argv: readonly string[];
}

/** `undefined` when there is no such process, or only its zombie. */
export function readProcess(pid: number): ProcessInfo | undefined {
  const stat = ifThere(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const commandLine = ifThere(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  // The second field is the program's name in parentheses, which may itself hold spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  const [state, parentPid, startTicks] = [fields[0], fields[1], fields[19]];
  if (state === undefined || parentPid === undefined || startTicks === undefined || 'ZX'.includes(state)) {
    return undefined;
  }
  const argv = commandLine?.split('\0').slice(0, -1) ?? [];
  return { pid, parentPid: Number(parentPid), startTicks, argv };
}

export function listProcesses(): ProcessInfo[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name)))
    .filter((found) => found !== undefined);
}

/** Whether the arguments hold `flag` directly followed by `value`. */
export function hasArgument(found: ProcessInfo, flag: string, value: string): boolean {
  return found.argv.some((argument, index) => argument === flag && found.argv[index + 1] === value);
}

/** The given processes and everything they started, directly or not. */
export function withDescendants(roots: readonly ProcessInfo[], all: readonly ProcessInfo[]): ProcessInfo[] {
  const found = new Map(roots.map((root) => [root.pid, root]));
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const candidate of all) {
      if (found.has(candidate.parentPid)) {
        found.set(candidate.pid, candidate);
      }
    }
  }
  return [...found.values()];
}

export function isRunning(known: ProcessInfo): boolean {
  return readProcess(known.pid)?.startTicks === known.startTicks;
}

export interface KillOptions {
  readonly timeoutMs?: number;
  /** Called while some have not ended, to take away what holds them. */
  readonly release?: () => void;
}

/** Ends these processes without asking them and returns when all are gone. */
export async function killProcesses(
  processes: readonly ProcessInfo[],
  { timeoutMs = 10_000, release }: KillOptions = {},
): Promise<void> {
  let left = processes.filter(isRunning);
  for (const found of left) {
    signalProcess(found.pid, 'SIGKILL');
  }
  await pollUntil(
    'killed processes end',
    () => {
      left = left.filter(isRunning);
      if (left.length === 0) {
        return true;
      }
      release?.();
      return undefined;
    },
    {
      timeoutMs,
      intervalMs: 5,
      detail: () => left.map(({ pid, argv }) => `${pid} ${argv.join(' ')}`).join('\n'),
    },
  );
}

/** `false` when the process was gone already. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  return ifThere(() => process.kill(pid, signal)) ?? false;
}
