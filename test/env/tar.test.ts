import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TarEntry, writeTar } from '../../src/runtimes/containerd/tar.js';
import { runCommand } from './command.js';
import { CleanupStack, createTempDir, type TempDir } from './tempdir.js';

const cleanups = new CleanupStack();
let dir: TempDir;

beforeAll(async () => {
  dir = await createTempDir('tar', { cleanups });
});
afterAll(() => cleanups.run());

async function listed(entries: TarEntry[]): Promise<string[]> {
  const path = join(dir.path, 'archive.tar');
  writeFileSync(path, writeTar(entries));
  const flags = ['--list', '--verbose', '--numeric-owner', '--utc', '--quoting-style=literal'];
  const { stdout } = await runCommand('tar', [...flags, '--file', path]);
  return stdout.trimEnd().split('\n');
}

const file = (path: string): TarEntry => ({ type: 'file', path, content: 'four' });
const segment = (length: number) => 'n'.repeat(length);

describe('writeTar, read by the system tar', () => {
  it.each<[rule: string, entry: TarEntry, line: RegExp]>([
    ['a file has its size and 0644', file('a'), /^-rw-r--r-- 0\/0 +4 1970-01-01 00:00 a$/],
    ['a leading slash is dropped', file('/etc/a'), / etc\/a$/],
    ['the mode is kept', { ...file('a'), mode: 0o4755 } as TarEntry, /^-rwsr-xr-x /],
    ['the owner is kept', { ...file('a'), uid: 1000, gid: 65534 }, / 1000\/65534 /],
    [
      'a directory has its sticky bit',
      { type: 'directory', path: 'tmp', mode: 0o1777 },
      /^drwxrwxrwt .* tmp\/$/,
    ],
    ['a symlink has its target', { type: 'symlink', path: 'sh', target: 'busybox' }, /^l.* sh -> busybox$/],
    ['100 bytes of name fit', file(segment(100)), new RegExp(` ${segment(100)}$`)],
    ['101 bytes of name without a slash are kept', file(segment(101)), new RegExp(` ${segment(101)}$`)],
    ['a long path is split at a slash', file(`${segment(150)}/${segment(90)}`), /n{150}\/n{90}$/],
    ['a path too long to split is kept', file(`${segment(200)}/${segment(200)}`), /n{200}\/n{200}$/],
    ['a long directory is kept', { type: 'directory', path: segment(100) }, / n{100}\/$/],
    ['a name beyond ASCII is kept', file('größe'), / größe$/],
    ['a long link target is kept', { type: 'symlink', path: 'l', target: segment(120) }, / l -> n{120}$/],
  ])('%s', async (_, entry, line) => {
    expect(await listed([entry, file('after')])).toEqual([
      expect.stringMatching(line),
      expect.stringMatching(/ after$/),
    ]);
  });

  it('gives the same bytes for the same entries', () => {
    expect(writeTar([file('a')]).equals(writeTar([file('a')]))).toBe(true);
  });
});
