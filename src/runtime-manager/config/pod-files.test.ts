import { fstatSync, writeSync } from 'node:fs';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createTerminationLog,
  type HostsFileCalls,
  makeLogDirectory,
  readNodeFile,
  readVolumeFile,
  writeHostsFile,
} from './pod-files.js';

let root = '';
let umask = 0;
beforeEach(async () => {
  umask = process.umask(0o077);
  root = await mkdtemp(join(tmpdir(), 'pod-files-'));
});
afterEach(async () => {
  process.umask(umask);
  await rm(root, { recursive: true });
});

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe('files of a pod', () => {
  it('log directories can be entered whatever the umask is', async () => {
    const path = join(root, 'logs/pod/c');
    makeLogDirectory(path);
    makeLogDirectory(path);
    expect(await modeOf(path)).toBe(0o755);
  });

  it('a hosts file keeps its inode, as running containers have it mounted', async () => {
    const path = join(root, 'pod/etc-hosts');
    writeHostsFile(path, 'a longer first content\n');
    const { ino } = await stat(path);
    await chmod(path, 0o600);
    writeHostsFile(path, 'short\n');
    expect(await readFile(path, 'utf8')).toBe('short\n');
    expect((await stat(path)).ino).toBe(ino);
    expect(await modeOf(path)).toBe(0o644);
  });

  it('an unchanged hosts file is not written', async () => {
    const path = join(root, 'etc-hosts');
    writeHostsFile(path, 'same\n');
    await utimes(path, 1000, 1000);
    writeHostsFile(path, 'same\n');
    expect((await stat(path)).mtimeMs).toBe(1_000_000);
    writeHostsFile(path, 'diff\n');
    expect(await readFile(path, 'utf8')).toBe('diff\n');
  });

  describe('a hosts file on a full disk', () => {
    /** A disk with room for this many bytes beyond the end of the file. */
    const roomFor = (bytes: number, code = 'ENOSPC'): HostsFileCalls => {
      let roomBytes = bytes;
      return {
        write: (file, content, at, length, position) => {
          const within = Math.max(0, fstatSync(file).size - position);
          const written = Math.min(length, within > 0 ? within : roomBytes);
          if (written === 0)
            throw Object.assign(new Error(`${code}: no space left on device, write`), { code });
          if (within === 0) roomBytes -= written;
          return writeSync(file, content, at, written, position);
        },
      };
    };

    it.each<[string, string | undefined, number]>([
      ['is not there when it is new', undefined, 0],
      ['is not there when a part of it would fit', undefined, 5],
      ['keeps its old content when it grows', 'old\n', 0],
      ['keeps its old content when a part of the new would fit', 'old\n', 5],
    ])('%s, and the error names it and the cause', async (_, before, roomBytes) => {
      const path = join(root, 'pod/etc-hosts');
      if (before !== undefined) writeHostsFile(path, before);
      expect(() => writeHostsFile(path, 'a longer content\n', roomFor(roomBytes))).toThrow(
        `the hosts file ${path} cannot be written: ENOSPC: no space left on device, write`,
      );
      expect(await readdir(join(root, 'pod'))).toEqual(before === undefined ? [] : ['etc-hosts']);
      if (before !== undefined) expect(await readFile(path, 'utf8')).toBe(before);
      writeHostsFile(path, 'a longer content\n', roomFor(100));
      expect(await readFile(path, 'utf8')).toBe('a longer content\n');
    });

    it('is replaced if it need not grow', async () => {
      const path = join(root, 'etc-hosts');
      writeHostsFile(path, 'a longer content\n');
      writeHostsFile(path, 'short\n', roomFor(0));
      expect(await readFile(path, 'utf8')).toBe('short\n');
    });
  });

  it('a hosts file is not written through a link', async () => {
    await writeFile(join(root, 'victim'), 'x');
    await symlink(join(root, 'victim'), join(root, 'etc-hosts'));
    expect(() => writeHostsFile(join(root, 'etc-hosts'), 'y')).toThrow('ELOOP');
  });

  it('each termination log is a separate file that everybody may write', async () => {
    const directory = join(root, 'containers/c');
    const first = createTerminationLog(directory);
    const second = createTerminationLog(directory);
    expect(first).not.toBe(second);
    expect(basename(first)).toMatch(/^[0-9a-f]{8}$/);
    expect(await modeOf(first)).toBe(0o666);
    expect(await readFile(first, 'utf8')).toBe('');
  });

  it('a file that is too long is an error', async () => {
    await writeFile(join(root, 'big'), Buffer.alloc(10 * 1024 * 1024 + 1));
    await expect(readNodeFile(join(root, 'big'))).rejects.toThrow('is longer than 10485760 bytes');
  });
});

describe('readVolumeFile', () => {
  beforeEach(async () => {
    await mkdir(join(root, 'volume/..data'), { recursive: true });
    await writeFile(join(root, 'volume/..data/env'), 'inside');
    await writeFile(join(root, 'secret'), 'outside');
    const links: [target: string, name: string][] = [
      ['..data/env', 'relative'],
      ['/..data/env', 'absolute'],
      ['../../../..data/env', 'climbing'],
      ['../secret', 'escaping'],
      ['loop', 'loop'],
      ['..data', 'directory'],
    ];
    for (const [target, name] of links) await symlink(target, join(root, 'volume', name));
  });

  it.each([
    '..data/env',
    'relative',
    'absolute',
    'climbing',
    '../../..data/env',
    'directory/env',
    '/relative',
  ])('reads %s', async (path) => expect(await readVolumeFile(join(root, 'volume'), path)).toBe('inside'));

  it.each([
    ['escaping', 'ENOENT'],
    ['../secret', 'ENOENT'],
    ['missing', 'ENOENT'],
    ['loop', 'leads through more than 40'],
    ['directory', 'is not a regular file'],
    ['', 'is not a regular file'],
  ])('rejects %s', async (path, message) => {
    await expect(readVolumeFile(join(root, 'volume'), path)).rejects.toThrow(message);
  });
});
