/** The lock file of `--lock-file`: at most one process holds it, and another one that wants it may end the agent. */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { type Clock, errorText, isCancelled, sleep } from '../async/index.js';
import type { KubeletFlags } from '../config/index.js';
import { goQuote } from '../kube/index.js';
import { CommandLine, endText, type ProgramEnd, plainEnvironment, runProgram } from '../programs/index.js';
import type { Timeline } from '../timeline/index.js';
import { heldLock, type LockContention, lockContention } from './lock-contention.js';
import { StartFailure } from './start-failure.js';

export interface LockFileOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
}

/**
 * Does the work while this process holds the lock file, if the flags name one. The work's signal also aborts when
 * another process wants the lock and the flags say to give way. Throws a StartFailure when the lock cannot be had.
 */
export async function whileLocked(
  { lockFile, exitOnLockContention }: Pick<KubeletFlags, 'lockFile' | 'exitOnLockContention'>,
  options: LockFileOptions,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  if (lockFile === '') return await work(signal);
  const lock = await acquireLockFile(lockFile, exitOnLockContention, options, signal);
  if (lock === undefined) return;
  const contention = new AbortController();
  const over = new AbortController();
  const watched = exitOnLockContention
    ? watchContention(lock, options.clock, over.signal, (reason) => contention.abort(reason))
    : Promise.resolve();
  try {
    await work(AbortSignal.any([signal, contention.signal]));
  } finally {
    over.abort();
    await watched;
    // The file stays, so that all processes lock the same one.
    await lock.file.close();
  }
}

interface HeldLockFile {
  readonly path: string;
  readonly file: FileHandle;
  /** Its name in `/proc/locks`; undefined where the kernel does not tell. */
  readonly lock: string | undefined;
}

/** Waiting has no limit; the program that waits is started anew after this time. */
const waitMs = 3_600_000;
const quickMs = 10_000;
const contentionPeriodMs = 1_000;
const locksLimitBytes = 4 << 20;

/** Waits until the lock is free; undefined when the signal aborts the wait. Throws a StartFailure when it cannot be had. */
async function acquireLockFile(
  path: string,
  mustShowContention: boolean,
  { clock, timeline }: LockFileOptions,
  signal: AbortSignal,
): Promise<HeldLockFile | undefined> {
  const failed = (why: string, cause?: unknown): StartFailure =>
    new StartFailure(`unable to acquire file lock on ${goQuote(path)}: ${why}`, { cause });
  let file: FileHandle;
  try {
    file = await open(path, constants.O_CREAT | constants.O_RDWR, 0o600);
  } catch (error) {
    throw failed(errorText(error), error);
  }
  // Node has no call that locks a file. The lock belongs to the opened file, so it stays with this process when the
  // program that took it has ended.
  const take = (line: CommandLine, limitMs: number): Promise<ProgramEnd> =>
    runProgram(line, {
      clock,
      limitMs,
      signal,
      env: plainEnvironment(),
      outputLimitBytes: 64 * 1024,
      files: [file.fd],
    });
  const flock = CommandLine.of('flock');
  try {
    let end = await take(flock.literal('-n', '-x', '3'), quickMs);
    if (end.kind === 'exited' && end.exitCode === 1) {
      const message = `another process holds the lock file ${path}; the agent waits until it ends`;
      timeline.record({ kind: 'notice', what: 'agent.lock', message, level: 'warn' });
      do end = await take(flock.literal('-x', '3'), waitMs);
      while (end.kind === 'timed-out');
    }
    if (end.kind === 'not-started')
      throw failed(`flock: ${endText(end)}; install flock of util-linux, or leave out --lock-file`);
    if (end.kind !== 'exited' || end.exitCode !== 0)
      throw failed(`flock: ${endText(end)}: ${end.stderr.trim().slice(0, 1_000)}`);
    const lock = heldLock(await readStart(`/proc/self/fdinfo/${file.fd}`));
    if (mustShowContention && (await contentionOf(lock)).kind === 'not-shown')
      throw new StartFailure(
        `--exit-on-lock-contention: the kernel does not show in /proc/locks who waits for ${goQuote(path)}, as in a PID namespace other than the first; leave the flag out`,
      );
    timeline.record({ kind: 'notice', what: 'agent.lock', message: `the agent holds the lock file ${path}` });
    return { path, file, lock };
  } catch (error) {
    await file.close();
    if (isCancelled(error)) return undefined;
    throw error;
  }
}

/** A lock that the kernel does not tell of cannot be watched either. */
async function contentionOf(lock: string | undefined): Promise<LockContention> {
  return lock === undefined ? { kind: 'not-shown' } : lockContention(await readStart('/proc/locks'), lock);
}

/**
 * Looks every second: Node cannot follow the opening of a file, but the kernel tells who waits for a lock. So a process
 * that only opens the file, or asks for the lock without waiting, does not end the agent.
 */
async function watchContention(
  { path, file, lock }: HeldLockFile,
  clock: Clock,
  signal: AbortSignal,
  giveWay: (reason: string) => void,
): Promise<void> {
  while (!signal.aborted) {
    // The next look repeats one that failed.
    const seen = await contentionOf(lock).catch(() => undefined);
    if (seen?.kind === 'wanted') return giveWay(`process ${seen.byPid} waits for the lock file ${path}`);
    const stats = await file.stat().catch(() => undefined);
    if (stats?.nlink === 0) return giveWay(`the lock file ${path} was removed`);
    await sleep(clock, contentionPeriodMs, signal).catch(() => undefined);
  }
}

/** What the kernel tells, up to a limit: other users of the machine may hold many locks. */
async function readStart(path: string): Promise<string> {
  const file = await open(path);
  try {
    const parts: Buffer[] = [];
    for (let bytes = 0; bytes < locksLimitBytes; ) {
      const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(64 * 1024) });
      if (bytesRead === 0) break;
      parts.push(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
    }
    return Buffer.concat(parts).toString();
  } finally {
    await file.close();
  }
}
