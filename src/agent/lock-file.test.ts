/** The lock file on this machine: real locks, which other programs hold and wait for. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../async/index.js';
import { Timeline } from '../timeline/index.js';
import { whileLocked } from './lock-file.js';
import { StartFailure } from './start-failure.js';

let dir: string;
let lockFile: string;
let timeline: Timeline;
const children: ChildProcess[] = [];

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'nodelet-lock-'));
  lockFile = path.join(dir, 'lock');
  timeline = new Timeline();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(dir, { recursive: true });
});

const never = new AbortController().signal;
const told = (): string[] => timeline.ofNode().map(({ message }) => message);
const locked = (
  work: (signal: AbortSignal) => Promise<void>,
  { exitOnLockContention = false, signal = never } = {},
): Promise<void> =>
  whileLocked({ lockFile, exitOnLockContention }, { clock: systemClock, timeline }, signal, work);

/** Another program that asks for the lock; `said` resolves when it has it. */
function other(...options: readonly string[]): { readonly said: Promise<unknown>; end(): void } {
  const child = spawn('flock', [...options, lockFile, '-c', 'echo locked; cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  return { said: once(child.stdout, 'data'), end: () => child.stdin.end() };
}
const exitCodeOf = async (...options: readonly string[]): Promise<unknown> => {
  const child = spawn('flock', [...options, lockFile, 'true'], { stdio: 'inherit' });
  return (await once(child, 'exit'))[0];
};
const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }));

it('works without a lock file', async () => {
  const work = vi.fn(async () => {});
  await whileLocked(
    { lockFile: '', exitOnLockContention: false },
    { clock: systemClock, timeline },
    never,
    work,
  );
  expect(work).toHaveBeenCalledOnce();
});

it('holds the lock while the work goes on, and keeps the file', async () => {
  await locked(async () => {
    expect(await exitCodeOf('-n', '-E', '9')).toBe(9);
    expect((await stat(lockFile)).mode & 0o777).toBe(0o600);
  });
  expect(await exitCodeOf('-n')).toBe(0);
  expect(told()).toEqual([`the agent holds the lock file ${lockFile}`]);
});

it('gives the lock back when the work fails', async () => {
  await expect(locked(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await exitCodeOf('-n')).toBe(0);
});

it('waits for the lock of another process, and says so', async () => {
  await writeFile(lockFile, '');
  const holder = other();
  await holder.said;
  const work = vi.fn(async () => {});
  const done = locked(work);
  await vi.waitFor(() => expect(told()).toEqual([expect.stringContaining('another process holds the lock')]));
  expect(work).not.toHaveBeenCalled();
  holder.end();
  await done;
  expect(work).toHaveBeenCalledOnce();
});

it('a stop ends the wait without the work', async () => {
  const holder = other();
  await holder.said;
  const stop = new AbortController();
  const work = vi.fn(async () => {});
  const done = locked(work, { signal: stop.signal });
  await vi.waitFor(() => expect(told()).toHaveLength(1));
  stop.abort('enough');
  await done;
  expect(work).not.toHaveBeenCalled();
});

it('passes the stop on to the work', async () => {
  const stop = new AbortController();
  let reason: unknown;
  await locked(
    async (signal) => {
      setTimeout(() => stop.abort('enough'), 10);
      reason = await aborted(signal);
    },
    { signal: stop.signal, exitOnLockContention: true },
  );
  expect(reason).toBe('enough');
});

it('gives way to a process that waits for the lock', async () => {
  let waiting: ReturnType<typeof other> | undefined;
  let reason: unknown;
  await locked(
    async (signal) => {
      waiting = other();
      reason = await aborted(signal);
    },
    { exitOnLockContention: true },
  );
  expect(reason).toMatch(/^process \d+ waits for the lock file /);
  await waiting?.said;
});

it('does not give way unless told to', async () => {
  await locked(async (signal) => {
    other();
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(signal.aborted).toBe(false);
  });
});

it('gives way when the file is removed', async () => {
  let reason: unknown;
  await locked(
    async (signal) => {
      await rm(lockFile);
      reason = await aborted(signal);
    },
    { exitOnLockContention: true },
  );
  expect(reason).toBe(`the lock file ${lockFile} was removed`);
});

it('refuses to start without the directory of the file', async () => {
  lockFile = path.join(dir, 'none', 'lock');
  const failure = await locked(async () => {}).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(StartFailure);
  expect(failure).toMatchObject({
    message: expect.stringMatching(/^unable to acquire file lock on "\/.*\/none\/lock": ENOENT/),
  });
});

it('refuses to start when flock cannot take the lock', async () => {
  const fake = path.join(dir, 'flock');
  await writeFile(fake, '#!/bin/sh\necho no locks here >&2\nexit 71\n', { mode: 0o755 });
  vi.stubEnv('PATH', dir);
  try {
    await expect(locked(async () => {})).rejects.toThrow('flock: exit status 71: no locks here');
  } finally {
    vi.unstubAllEnvs();
  }
});
