import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { UnusableFile } from '../../host/index.js';
import { identify } from '../../runtimes/process/identity.js';
import { badRunName, claimRun, findRun, listRuns, type StateDirectories, stateDirectories } from './state.js';

let base: string;
let directories: StateDirectories;
beforeEach(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'nodelet-state-'));
  directories = { runtimeDir: path.join(base, 'run'), dataDir: path.join(base, 'data/runs') };
});
afterEach(() => rm(base, { recursive: true, force: true }));

/** Creates what a killed process leaves. */
const leaveStale = async (name: string): Promise<void> => {
  await mkdir(path.join(directories.runtimeDir, name), { recursive: true, mode: 0o700 });
  await mkdir(path.join(directories.dataDir, name), { recursive: true });
  await writeFile(
    path.join(directories.runtimeDir, name, 'run.json'),
    JSON.stringify({
      pid: process.pid,
      processStart: 'another time',
      rootDir: path.join(directories.dataDir, name),
      startedAt: '2030-01-01T00:00:00.000Z',
    }),
  );
};

/** The attack: swaps a directory with a link to other files, five thousand times. */
const swaps = `
const fs = require('node:fs');
const [place, outside] = process.argv.slice(1);
const attempt = (call) => { try { call(); } catch {} };
process.stdout.write('ready');
for (let turn = 0; turn < 5000; turn++) {
  attempt(() => fs.renameSync(place, place + '-aside'));
  attempt(() => fs.symlinkSync(outside, place));
  attempt(() => fs.unlinkSync(place));
  attempt(() => fs.renameSync(place + '-aside', place));
}
`;

describe('stateDirectories', () => {
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
      'a user with XDG directories',
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
    ['NODELET_STATE_DIR', { NODELET_STATE_DIR: '/x' }, 0, '/x/run', '/x/data'],
  ])('of %s', (_who, env, uid, runtimeDir, dataDir) => {
    expect(stateDirectories(env, uid, () => true)).toEqual({ runtimeDir, dataDir });
  });

  it('of an ordinary user who is root of a user namespace', () => {
    expect(stateDirectories({ XDG_RUNTIME_DIR: '/run/user/7', HOME: '/home/u' }, 0, () => false)).toEqual({
      runtimeDir: '/run/user/7/nodelet',
      dataDir: '/home/u/.local/state/nodelet/runs',
    });
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
  it('is listed while it runs, and leaves nothing', async () => {
    const claim = await claimRun('web', Date.parse('2030-01-01T00:00:00Z'), directories);
    expect(claim.takenOver).toBe(false);
    expect(await listRuns(directories)).toEqual([
      {
        name: 'web',
        pid: process.pid,
        socketPath: path.join(directories.runtimeDir, 'web/nodelet.sock'),
        rootDir: path.join(directories.dataDir, 'web'),
        startedAt: '2030-01-01T00:00:00.000Z',
        alive: true,
      },
    ]);
    await claim.release();
    expect(await listRuns(directories)).toEqual([]);
    expect(existsSync(directories.runtimeDir)).toBe(false);
    expect(existsSync(path.dirname(directories.dataDir))).toBe(false);
  });
  it('removes nothing outside when it ends, though a process swaps in links meanwhile', async () => {
    const outside = path.join(base, 'outside');
    mkdirSync(outside);
    const names = Array.from({ length: 50 }, (_, index) => `file-${index}`);
    for (const name of names) writeFileSync(path.join(outside, name), '');
    const claim = await claimRun('web', 0, directories);
    const swapper = spawn(process.execPath, ['-e', swaps, path.join(claim.rootDir, 'd'), outside], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(swapper.stdout, 'data');
    const ended = once(swapper, 'exit');
    while (swapper.exitCode === null) {
      const filled = path.join(base, 'filled');
      mkdirSync(filled, { recursive: true });
      for (const name of names) writeFileSync(path.join(filled, name), '');
      mkdirSync(claim.rootDir, { recursive: true });
      // The place may be taken at this moment.
      await rename(filled, path.join(claim.rootDir, 'd')).catch(() => {});
      // New entries may keep the removal from finishing; they must not redirect it.
      await claim.release().catch(() => {});
      expect(readdirSync(outside)).toHaveLength(names.length);
    }
    await ended;
    await claim.release();
    expect(readdirSync(outside)).toHaveLength(names.length);
    expect(existsSync(claim.rootDir)).toBe(false);
  }, 60_000);
  it('fails while another process has the name', async () => {
    const claim = await claimRun('web', 0, directories);
    await expect(claimRun('web', 0, directories)).rejects.toThrow(
      /named "web" is there already \(pid \d+\).*nodelet stop --name web/,
    );
    await claim.release();
  });
  it('succeeds for one of several concurrent claims', async () => {
    await leaveStale('web');
    const claims = await Promise.allSettled(Array.from({ length: 8 }, () => claimRun('web', 0, directories)));
    expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
  it('succeeds for one when the record is broken or the process that took it over died', async () => {
    await leaveStale('web');
    const dir = path.join(directories.runtimeDir, 'web');
    const file = path.join(dir, 'run.json');
    // The first process that took it over died before it placed its record.
    const stale = { pid: process.pid, processStart: 'another time' };
    const key = createHash('sha256').update(`${stale.pid} another time`).digest('hex').slice(0, 16);
    writeFileSync(`${file}.after-${key}`, JSON.stringify({ ...stale, processStart: 'yet another' }));
    const claims = await Promise.allSettled(Array.from({ length: 8 }, () => claimRun('web', 0, directories)));
    expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(readdirSync(dir)).toEqual(['run.json']);
    writeFileSync(file, '');
    const told: UnusableFile[] = [];
    const again = await Promise.allSettled(
      Array.from({ length: 8 }, () => claimRun('web', 0, directories, (unusable) => told.push(unusable))),
    );
    expect(again.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(told).toHaveLength(1);
    expect(await listRuns(directories)).toMatchObject([{ alive: true }]);
  });
  it('takes over what a killed process left, and does not trust a pid alone', async () => {
    await leaveStale('web');
    expect(await listRuns(directories)).toMatchObject([{ name: 'web', alive: false }]);
    const claim = await claimRun('web', 0, directories);
    expect(claim.takenOver).toBe(true);
    expect(await listRuns(directories)).toMatchObject([{ alive: true }]);
    await claim.release();
  });
});

describe('a broken record', () => {
  it.each<[string, (file: string) => unknown, string]>([
    ['empty', (file) => writeFileSync(file, ''), 'it is empty'],
    ['cut', (file) => writeFileSync(file, '{"pid":12'), 'it is not whole JSON'],
    ['garbage', (file) => writeFileSync(file, '\0\0\0'), 'it is not whole JSON'],
    ['incomplete', (file) => writeFileSync(file, '{"pid":12}'), 'it is not the record of a run'],
    ['of a future version', (file) => writeFileSync(file, '{"version":2}'), 'it is of version 2'],
    ['a directory', (file) => mkdirSync(file), 'it is a directory'],
    ['a FIFO', (file) => execFileSync('mkfifo', [file]), 'it is a fifo'],
  ])('is told and set aside, and the run goes on: %s', async (_, put, reason) => {
    const file = path.join(directories.runtimeDir, 'web/run.json');
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    put(file);
    expect(await listRuns(directories)).toEqual([]);
    const told: UnusableFile[] = [];
    const claim = await claimRun('web', 0, directories, (unusable) => told.push(unusable));
    expect(told).toEqual([
      {
        path: file,
        movedTo: `${file}.corrupt-19700101T000000.000Z`,
        reason: expect.stringContaining(reason),
      },
    ]);
    expect(readdirSync(path.dirname(file)).sort()).toEqual([
      'run.json',
      'run.json.corrupt-19700101T000000.000Z',
    ]);
    expect(await listRuns(directories)).toMatchObject([{ name: 'web', alive: true }]);
    await claim.release();
    expect(existsSync(directories.runtimeDir)).toBe(false);
  });

  it('of a future version stays while its process lives', async () => {
    const file = path.join(directories.runtimeDir, 'web/run.json');
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    const { pid, startTime: processStart } = identify(process.pid);
    const text = JSON.stringify({ version: 2, pid, processStart });
    writeFileSync(file, text);
    await expect(claimRun('web', 0, directories)).rejects.toThrow(`is there already (pid ${pid})`);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });
});

describe('findRun', () => {
  it('finds the only live run without a name', async () => {
    await leaveStale('old');
    expect(await findRun(undefined, directories)).toMatchObject({ name: 'old', alive: false });
    const claim = await claimRun('web', 0, directories);
    expect(await findRun(undefined, directories)).toMatchObject({ name: 'web' });
    expect(await findRun('old', directories)).toMatchObject({ name: 'old' });
    await claim.release();
  });
  it.each<[string, string[], string | undefined, RegExp]>([
    ['nothing runs', [], undefined, /nothing runs: start pods/],
    ['several run', ['a', 'b'], undefined, /choose one with --name: a, b/],
    ['no such name', ['a'], 'b', /no run is named "b": there is a/],
  ])('says what to do when %s', async (_case, names, name, message) => {
    for (const one of names) await leaveStale(one);
    await expect(findRun(name, directories)).rejects.toThrow(message);
  });
});
