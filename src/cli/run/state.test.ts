import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { badRunName, claimRun, findRun, listRuns, type StateFolders, stateFolders } from './state.js';

let base: string;
let folders: StateFolders;
beforeEach(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'nodelet-state-'));
  folders = { runtimeDir: path.join(base, 'run'), dataDir: path.join(base, 'data/runs') };
});
afterEach(() => rm(base, { recursive: true, force: true }));

/** What a killed process leaves. */
const leaveStale = async (name: string): Promise<void> => {
  await mkdir(path.join(folders.runtimeDir, name), { recursive: true, mode: 0o700 });
  await mkdir(path.join(folders.dataDir, name), { recursive: true });
  await writeFile(
    path.join(folders.runtimeDir, name, 'run.json'),
    JSON.stringify({
      pid: process.pid,
      processStart: 'another time',
      rootDir: path.join(folders.dataDir, name),
      startedAt: '2030-01-01T00:00:00.000Z',
    }),
  );
};

describe('stateFolders', () => {
  it.each<[string, NodeJS.ProcessEnv, number, string, string]>([
    ['root', {}, 0, '/run/nodelet', '/var/lib/nodelet/runs'],
    [
      'a user',
      { XDG_RUNTIME_DIR: '/run/user/7', HOME: '/home/u' },
      7,
      '/run/user/7/nodelet',
      '/home/u/.local/state/nodelet/runs',
    ],
    [
      'a user with folders of their own',
      { XDG_RUNTIME_DIR: '/r', XDG_STATE_HOME: '/s' },
      7,
      '/r/nodelet',
      '/s/nodelet/runs',
    ],
    [
      'a user without a session',
      { HOME: '/home/u' },
      7,
      path.join(tmpdir(), 'nodelet-7'),
      '/home/u/.local/state/nodelet/runs',
    ],
    ['anybody who says where', { NODELET_STATE_DIR: '/x' }, 0, '/x/run', '/x/data'],
  ])('of %s', (_who, env, uid, runtimeDir, dataDir) => {
    expect(stateFolders(env, uid)).toEqual({ runtimeDir, dataDir });
  });
});

it.each([
  ['web', true],
  ['web-1', true],
  ['', false],
  ['..', false],
  ['a/b', false],
  ['Web', false],
  ['a'.repeat(41), false],
])('the name %j is fine: %s', (name, fine) => {
  expect(badRunName(name) === undefined).toBe(fine);
});

describe('claimRun', () => {
  it('is found while it is there, and leaves nothing', async () => {
    const claim = await claimRun('web', Date.parse('2030-01-01T00:00:00Z'), folders);
    expect(claim.takenOver).toBe(false);
    expect(await listRuns(folders)).toEqual([
      {
        name: 'web',
        pid: process.pid,
        socketPath: path.join(folders.runtimeDir, 'web/nodelet.sock'),
        rootDir: path.join(folders.dataDir, 'web'),
        startedAt: '2030-01-01T00:00:00.000Z',
        alive: true,
      },
    ]);
    await claim.release();
    expect(await listRuns(folders)).toEqual([]);
    expect(existsSync(folders.runtimeDir)).toBe(false);
    expect(existsSync(path.dirname(folders.dataDir))).toBe(false);
  });
  it('is refused while another process has the name', async () => {
    const claim = await claimRun('web', 0, folders);
    await expect(claimRun('web', 0, folders)).rejects.toThrow(
      /named "web" is there already \(pid \d+\).*nodelet stop --name web/,
    );
    await claim.release();
  });
  it('goes to one of several that ask at the same time', async () => {
    await leaveStale('web');
    const claims = await Promise.allSettled(Array.from({ length: 8 }, () => claimRun('web', 0, folders)));
    expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
  it('takes over what a killed process left, and never trusts a pid alone', async () => {
    await leaveStale('web');
    expect(await listRuns(folders)).toMatchObject([{ name: 'web', alive: false }]);
    const claim = await claimRun('web', 0, folders);
    expect(claim.takenOver).toBe(true);
    expect(await listRuns(folders)).toMatchObject([{ alive: true }]);
    await claim.release();
  });
});

describe('findRun', () => {
  it('takes the only living run when none is named', async () => {
    await leaveStale('old');
    expect(await findRun(undefined, folders)).toMatchObject({ name: 'old', alive: false });
    const claim = await claimRun('web', 0, folders);
    expect(await findRun(undefined, folders)).toMatchObject({ name: 'web' });
    expect(await findRun('old', folders)).toMatchObject({ name: 'old' });
    await claim.release();
  });
  it.each<[string, string[], string | undefined, RegExp]>([
    ['nothing runs', [], undefined, /nothing runs: start pods/],
    ['several run', ['a', 'b'], undefined, /choose one with --name: a, b/],
    ['no such name', ['a'], 'b', /no run is named "b": there is a/],
  ])('says what to do when %s', async (_case, names, name, message) => {
    for (const one of names) await leaveStale(one);
    await expect(findRun(name, folders)).rejects.toThrow(message);
  });
});
