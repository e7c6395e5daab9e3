/**
 * Holds a delay lock of logind by a child process. The lock is a descriptor that logind sends over D-Bus, and Node cannot
 * receive one; `systemd-inhibit` can. It takes the lock, then starts a command that ends when our end of a pipe closes:
 * when we release the lock, or when this process dies, however that happens.
 */
import { Cancelled, type Clock, errorText, throwIfCancelled } from '../../async/index.js';
import { CommandLine, killProgram, type ProgramEnvironment, startProgram } from '../../programs/index.js';
import type { InhibitLock } from './logind.js';

export interface InhibitorOptions {
  readonly clock: Clock;
  readonly env: ProgramEnvironment;
}

/** How long logind may take to give the lock. */
const takeMs = 25_000;
/** How long the child may take to end; it is killed afterwards. */
const releaseMs = 5_000;
const outputLimitBytes = 4 * 1024;
const heldLine = 'held\n';

const commandLine = CommandLine.of('systemd-inhibit')
  .literal(
    '--what=shutdown',
    '--who=kubelet',
    '--why=Kubelet needs time to handle node shutdown',
    '--mode=delay',
  )
  .operands('sh', '-c', 'echo held; exec cat >/dev/null');

/** Rejects with what the program said when there is no lock. */
export function takeInhibitLock({ clock, env }: InhibitorOptions, signal: AbortSignal): Promise<InhibitLock> {
  return new Promise((resolve, reject) => {
    throwIfCancelled(signal);
    const child = startProgram(commandLine, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    let state: 'taking' | 'held' | 'releasing' | 'ended' = 'taking';
    let said = '';
    let complaint = '';
    let reportLost = (_why: string): void => undefined;
    let reportEnded = (): void => undefined;
    const lost = new Promise<string>((report) => {
      reportLost = report;
    });
    const ended = new Promise<void>((report) => {
      reportEnded = report;
    });
    const kill = (): void => {
      if (state !== 'ended') killProgram(child);
    };
    const fail = (error: Error): void => {
      stopTaking();
      kill();
      reject(error);
    };
    const stopTaking = (): void => {
      takeTimer.cancel();
      signal.removeEventListener('abort', onAbort);
    };
    const onEnd = (why: string): void => {
      if (state === 'ended') return;
      const before = state;
      state = 'ended';
      child.stdin?.destroy();
      reportEnded();
      if (before === 'taking') fail(new Error(complaint.trim() || why));
      else if (before === 'held') reportLost(complaint.trim() || why);
    };
    const release = async (): Promise<void> => {
      if (state === 'held') state = 'releasing';
      child.stdin?.end();
      const timer = clock.setTimer(releaseMs, kill);
      await ended;
      timer.cancel();
    };
    const onAbort = (): void => fail(new Cancelled());
    const takeTimer = clock.setTimer(takeMs, () => fail(new Error(`no lock after ${takeMs / 1000}s`)));
    signal.addEventListener('abort', onAbort, { once: true });
    child.stdin?.on('error', () => undefined);
    child.stderr?.on('data', (chunk: Buffer) => {
      complaint = `${complaint}${chunk.toString('utf8')}`.slice(0, outputLimitBytes);
    });
    child.stdout?.on('data', (chunk: Buffer) => {
      said = `${said}${chunk.toString('utf8')}`.slice(0, outputLimitBytes);
      if (state !== 'taking' || said !== heldLine) return;
      state = 'held';
      stopTaking();
      resolve({ lost, release });
    });
    child.once('error', (error) => onEnd(errorText(error)));
    const onExit = (code: number | null, by: string | null): void =>
      onEnd(`systemd-inhibit ended with ${by ?? `exit status ${code}`}`);
    // The lock ends with the program, whatever became of the command that it started.
    child.once('exit', (code, by) => {
      if (state !== 'taking') onExit(code, by);
    });
    // What it said is complete then.
    child.once('close', onExit);
  });
}
