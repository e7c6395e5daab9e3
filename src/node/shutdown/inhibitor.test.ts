/** The holder of a lock: programs that take it, refuse it, are silent, die, or are not there. A script stands in for the real one. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Cancelled, systemClock, VirtualClock } from '../../async/index.js';
import { takeInhibitLock } from './inhibitor.js';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'inhibitor-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Leaves its process id and arguments, and a file while it runs. */
function standIn(then: string): { readonly PATH: string } {
  const file = join(directory, 'systemd-inhibit');
  const start = `#!/bin/sh\ncd ${directory}\necho $$ > pid\nprintf '%s\\n' "$@" > words\n`;
  writeFileSync(file, `${start}${then}\n`);
  chmodSync(file, 0o755);
  return { PATH: `${directory}:/usr/bin:/bin` };
}

const skipToCommand = 'while [ "$1" != -- ]; do shift; done; shift';
const holds = `${skipToCommand}; touch locked; "$@"; rm locked`;
const isLocked = (): boolean => existsSync(join(directory, 'locked'));
const signal = new AbortController().signal;

it('holds the lock until it is released', async () => {
  const env = standIn(holds);
  const lock = await takeInhibitLock({ clock: systemClock, env }, signal);
  expect(isLocked()).toBe(true);
  expect(readFileSync(join(directory, 'words'), 'utf8').split('\n').slice(0, 6)).toEqual([
    '--what=shutdown',
    '--who=kubelet',
    '--why=Kubelet needs time to handle node shutdown',
    '--mode=delay',
    '--',
    'sh',
  ]);
  await lock.release();
  expect(isLocked()).toBe(false);
  await lock.release();
});

it.each<[rule: string, script: string, error: string]>([
  [
    'is refused',
    'echo "Failed to inhibit: The operation inhibition has been requested for is already running" >&2; exit 1',
    'Failed to inhibit: The operation inhibition has been requested for is already running',
  ],
  ['ends without a word', 'exit 1', 'systemd-inhibit ended with exit status 1'],
  ['says something else', 'echo hold; exit 0', 'systemd-inhibit ended with exit status 0'],
  ['is killed', 'kill -9 $$', 'systemd-inhibit ended with SIGKILL'],
])('there is no lock where the program %s', async (_rule, script, error) => {
  await expect(takeInhibitLock({ clock: systemClock, env: standIn(script) }, signal)).rejects.toThrow(error);
});

it('there is no lock where the program is not there', async () => {
  const env = { PATH: directory };
  await expect(takeInhibitLock({ clock: systemClock, env }, signal)).rejects.toThrow('ENOENT');
});

it('a program that complains without end is cut short', async () => {
  const env = standIn('head -c 1000000 /dev/zero | tr "\\0" x >&2; exit 1');
  const error = await takeInhibitLock({ clock: systemClock, env }, signal).catch((thrown: unknown) => thrown);
  expect(error instanceof Error && error.message.length).toBe(4096);
});

const isGone = (): boolean => {
  const pid = Number(readFileSync(join(directory, 'pid'), 'utf8'));
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
};

it('a silent program is given up after its time, and killed', async () => {
  const clock = new VirtualClock();
  const taking = takeInhibitLock({ clock, env: standIn('sleep 1000') }, signal);
  const refused = expect(taking).rejects.toThrow('no lock after 25s');
  await expect.poll(() => existsSync(join(directory, 'words'))).toBe(true);
  await clock.advance(25_000);
  await refused;
  await expect.poll(isGone).toBe(true);
  expect(clock.pendingTimers).toBe(0);
});

it('a cancelled wait kills the program', async () => {
  const stop = new AbortController();
  const taking = takeInhibitLock({ clock: systemClock, env: standIn('sleep 1000') }, stop.signal);
  await expect.poll(() => existsSync(join(directory, 'words'))).toBe(true);
  stop.abort();
  await expect(taking).rejects.toThrow(Cancelled);
  await expect.poll(isGone).toBe(true);
  await expect(takeInhibitLock({ clock: systemClock, env: standIn(holds) }, stop.signal)).rejects.toThrow(
    Cancelled,
  );
});

it('the end of the program is a lost lock, and none after a release', async () => {
  const lock = await takeInhibitLock({ clock: systemClock, env: standIn(holds) }, signal);
  process.kill(Number(readFileSync(join(directory, 'pid'), 'utf8')), 'SIGKILL');
  expect(await lock.lost).toBe('systemd-inhibit ended with SIGKILL');
  await lock.release();

  const released = await takeInhibitLock({ clock: systemClock, env: standIn(holds) }, signal);
  let isLost = false;
  void released.lost.then(() => {
    isLost = true;
  });
  await released.release();
  expect(isLost).toBe(false);
});

it('a program that does not end on release is killed', async () => {
  const clock = new VirtualClock();
  const stubborn = `${skipToCommand}; echo held; sleep 1000`;
  const lock = await takeInhibitLock({ clock, env: standIn(stubborn) }, signal);
  const releasing = lock.release();
  await clock.advance(5_000);
  await releasing;
  await expect.poll(isGone).toBe(true);
  expect(clock.pendingTimers).toBe(0);
});
