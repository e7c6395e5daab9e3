/** The directory of the process runtime, and attempts to escape from it. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StateDirectory } from './state-directory.js';

const id = 'a'.repeat(64);
let dir: string;
let state: StateDirectory;
let container: string;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'nodelet-state-'));
  state = await StateDirectory.open(join(dir, 'state'));
  container = state.filesOf(id).directory;
  mkdirSync(container);
});
afterEach(async () => {
  await state.release();
  rmSync(dir, { recursive: true });
});

describe('removing a container', () => {
  it('removes links and leaves their targets alone', async () => {
    mkdirSync(join(dir, 'outside'));
    writeFileSync(join(dir, 'outside/kept'), '');
    mkdirSync(join(container, 'a/b'), { recursive: true });
    symlinkSync(join(dir, 'outside'), join(container, 'a/link'));
    symlinkSync(join(dir, 'outside/kept'), join(container, 'a/b/file-link'));
    symlinkSync('/nowhere', join(container, 'dangling'));
    writeFileSync(join(container, 'a/b/file'), '');
    chmodSync(join(container, 'a/b'), 0o000);
    await state.removeContainer(id);
    expect(await state.containerIds()).toEqual([]);
    expect(existsSync(join(dir, 'outside/kept'))).toBe(true);
  });

  it('that is missing is no error', async () => {
    await state.removeContainer('b'.repeat(64));
  });

  it('follows no link that one of its processes swaps in meanwhile', async () => {
    const outside = join(dir, 'outside');
    mkdirSync(outside);
    const names = Array.from({ length: 50 }, (_, index) => `file-${index}`);
    for (const name of names) writeFileSync(join(outside, name), '');
    const condemned = `${container}.removed`;
    const swapper = spawn(process.execPath, ['-e', swaps, condemned, outside], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(swapper.stdout, 'data');
    const ended = once(swapper, 'exit');
    for (let round = 0; swapper.exitCode === null; round++) {
      mkdirSync(join(container, 'd'), { recursive: true });
      for (const name of names) writeFileSync(join(container, 'd', name), '');
      // A process that keeps creating entries may keep the removal from finishing; it must not redirect it.
      await state.removeContainer(id).catch(() => {});
      await state.removeLeftovers().catch(() => {});
      expect(readdirSync(outside), `round ${round}`).toHaveLength(names.length);
    }
    await ended;
    await state.removeLeftovers();
    expect(readdirSync(outside)).toHaveLength(names.length);
  }, 60_000);
});

/** The attack: swaps its directory with a link to others' files, five thousand times. */
const swaps = `
const fs = require('node:fs');
const [condemned, outside] = process.argv.slice(1);
const place = condemned + '/d';
const attempt = (call) => { try { call(); } catch {} };
process.stdout.write('ready');
for (let turn = 0; turn < 5000; turn++) {
  attempt(() => fs.renameSync(place, place + '-aside'));
  attempt(() => fs.symlinkSync(outside, place));
  attempt(() => fs.unlinkSync(place));
  attempt(() => fs.renameSync(place + '-aside', place));
}
`;

describe('what was set aside', () => {
  it('does not pile up, neither sandboxes nor containers with their files', async () => {
    for (let round = 0; round < 30; round++) {
      const other = round.toString(16).padStart(64, '0');
      mkdirSync(join(state.filesOf(other).directory, 'root'), { recursive: true });
      expect(await state.setAsideContainer(other)).toContain(`${other}.corrupt-`);
      writeFileSync(join(dir, 'state/sandboxes', `${other}.json`), '');
      expect(await state.setAsideSandbox(other)).toContain(`${other}.json.corrupt-`);
    }
    expect(readdirSync(join(dir, 'state/sandboxes'))).toHaveLength(8);
    expect(readdirSync(join(dir, 'state/containers'))).toHaveLength(1 + 8);
    expect(await state.containerIds()).toEqual([id]);
  });
});

describe('opening', () => {
  it.each<[string, (path: string) => unknown]>([
    ['a directory', (path) => mkdirSync(path)],
    ['a FIFO', (path) => execFileSync('mkfifo', [path])],
  ])('takes over the directory when its owner is %s', async (_, put) => {
    const owner = join(dir, 'state/owner.json');
    rmSync(owner);
    put(owner);
    const again = await StateDirectory.open(join(dir, 'state'));
    await again.release();
    expect(existsSync(owner)).toBe(false);
  });

  it.each(['', '{"pid":12', 'garbage', 'null', '\0\0\0'])(
    'takes the directory where a power cut left %j of its owner',
    async (text) => {
      writeFileSync(join(dir, 'state/owner.json'), text);
      const again = await StateDirectory.open(join(dir, 'state'));
      await again.release();
      expect(existsSync(join(dir, 'state/owner.json'))).toBe(false);
    },
  );
});
