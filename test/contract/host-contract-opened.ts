/** What a machine does with files and directories that others may have put there or exchanged. */
import { describe, expect, it } from 'vitest';
import {
  type HeldPath,
  type HostFiles,
  holdBelow,
  openRegular,
  readLastBytes,
  readRegular,
} from '../../src/host/index.js';
import { codeOf, type HostContract, textOf } from './host-contract.js';

export function describeOpenedFiles(contract: HostContract): void {
  const { at } = contract;
  const files = (): HostFiles => contract.host.files;
  const holding = async <T>(name: string, use: (held: HeldPath) => Promise<T>): Promise<T> => {
    const held = await contract.host.hold(at(name));
    try {
      return await use(held);
    } finally {
      await held.close();
    }
  };

  describe('opened files', () => {
    it('a regular file is read in parts', async () => {
      await files().writeFile(at('file'), 'abcdef');
      const file = await openRegular(contract.host, at('file'));
      const buffer = new Uint8Array(4);
      expect(await file.read(buffer, 1)).toBe(4);
      expect(textOf(buffer)).toBe('bcde');
      expect(await file.read(buffer, 5)).toBe(1);
      expect(await file.read(buffer, 6)).toBe(0);
      expect(await file.stat()).toMatchObject({ kind: 'file', sizeBytes: 6 });
      expect(textOf(await readLastBytes(file, 2))).toBe('ef');
      expect(textOf(await readLastBytes(file, 100))).toBe('abcdef');
      await file.close();
      await file.close();
      expect(await codeOf(file.read(buffer, 0))).toBe('EBADF');
    });

    it('what is open stays the same when its name goes to another', async () => {
      await files().writeFile(at('file'), 'mine');
      const file = await openRegular(contract.host, at('file'));
      await files().unlink(at('file'));
      await files().writeFile(at('file'), 'other');
      expect(textOf(await readLastBytes(file, 10))).toBe('mine');
      await file.close();
    });

    it('nothing but a regular file is opened, and no link followed', async () => {
      await files().mkdir(at('directory'));
      await files().writeFile(at('file'), '');
      await files().symlink('file', at('link'));
      contract.makePipe(at('pipe'));
      expect(await codeOf(openRegular(contract.host, at('directory')))).toBe('EISDIR');
      expect(await codeOf(openRegular(contract.host, at('link')))).toBe('ELOOP');
      expect(await codeOf(openRegular(contract.host, at('pipe')))).toBe('EINVAL');
      expect(await codeOf(openRegular(contract.host, at('nothing')))).toBe('ENOENT');
    });

    it('a file that is longer than its reader allows is refused', async () => {
      await files().writeFile(at('file'), 'x'.repeat(10_000));
      expect(await readRegular(contract.host, at('file'), 10_000)).toHaveLength(10_000);
      expect(await codeOf(readRegular(contract.host, at('file'), 9_999))).toBe('EFBIG');
      await files().writeFile(at('empty'), '');
      expect(await readRegular(contract.host, at('empty'), 0)).toHaveLength(0);
    });

    it('a new file is written with exactly its mode, and replaces nothing', async () => {
      await files().mkdir(at('directory'));
      await files().symlink('elsewhere', at('directory/link'));
      await holding('directory', async (held) => {
        const file = await held.createFile('file', 0o666);
        await file.write(new TextEncoder().encode('some'));
        await file.write(new TextEncoder().encode('thing'));
        await file.close();
        await file.close();
        expect(textOf(await files().readFile(at('directory/file')))).toBe('something');
        expect((await files().stat(at('directory/file'))).mode).toBe(0o666);
        expect(await codeOf(held.createFile('file', 0o600))).toBe('EEXIST');
        expect(await codeOf(held.createFile('link', 0o600))).toBe('EEXIST');
        expect(await codeOf(held.createFile('../x', 0o600))).toBe('EINVAL');
      });
      expect(await codeOf(files().lstat(at('directory/elsewhere')))).toBe('ENOENT');
    });

    it('a directory is listed in parts, each name once', async () => {
      await files().mkdir(at('directory'));
      const names = Array.from({ length: 600 }, (_, index) => `file-${index}`);
      for (const name of names) await files().writeFile(at(`directory/${name}`), '');
      await files().mkdir(at('directory/sub'));
      await files().symlink('sub', at('directory/link'));
      contract.makePipe(at('directory/pipe'));
      const listed = await holding('directory', async (held) => {
        const directory = await held.openDirectory();
        const found = new Map<string, string>();
        for (let part = await directory.next(); part.length > 0; part = await directory.next()) {
          expect(part.length).toBeLessThanOrEqual(256);
          for (const { name, kind } of part) {
            expect(found.has(name)).toBe(false);
            found.set(name, kind);
          }
        }
        expect(await directory.next()).toEqual([]);
        await directory.close();
        await directory.close();
        return found;
      });
      expect(listed.size).toBe(603);
      expect([listed.get('sub'), listed.get('link'), listed.get('pipe'), listed.get('file-7')]).toEqual([
        'directory',
        'symlink',
        'fifo',
        'file',
      ]);
    });

    it('only a directory is listed', async () => {
      await files().writeFile(at('file'), '');
      await holding('file', async (held) => expect(await codeOf(held.openDirectory())).toBe('ENOTDIR'));
    });

    it('links are read where they are', async () => {
      await files().mkdir(at('directory'));
      await files().symlink('../x', at('directory/link'));
      await files().writeFile(at('directory/file'), '');
      await holding('directory', async (held) => {
        expect(await held.readlink('link')).toBe('../x');
        expect(await codeOf(held.readlink('file'))).toBe('EINVAL');
        expect(await codeOf(held.readlink('nothing'))).toBe('ENOENT');
      });
    });

    it('mounts are told apart, also those of one file system', async () => {
      await files().mkdir(at('directory/same'), { recursive: true });
      await files().mkdir(at('directory/bound'));
      await contract.host.mounts.mount({
        source: at('directory/same'),
        target: at('directory/bound'),
        options: ['bind'],
      });
      await holding('directory', async (held) => {
        const [same, bound] = [await held.child('same'), await held.child('bound')];
        expect(await same.mountId()).toBe(await held.mountId());
        expect(await bound.mountId()).not.toBe(await held.mountId());
        await same.close();
        await bound.close();
      });
    });

    it('file systems tell their room', async () => {
      const facts = await files().statFileSystem(at('.'));
      expect(facts.blocks).toBeGreaterThanOrEqual(facts.freeBlocks);
      expect(facts.freeBlocks).toBeGreaterThanOrEqual(facts.availableBlocks);
      expect(facts.blockBytes).toBeGreaterThan(0);
      expect(await codeOf(files().statFileSystem(at('nothing')))).toBe('ENOENT');
    });
  });

  describe('what lies below a directory', () => {
    const found = async (path: string, absoluteLinks: 'of the machine' | 'of the directory') => {
      try {
        const held = await holdBelow(contract.host, at('top'), path, { absoluteLinks });
        const file = await held.openFile().finally(() => held.close());
        const text = textOf(await readLastBytes(file, 100));
        await file.close();
        return text;
      } catch (error) {
        return await codeOf(Promise.reject(error));
      }
    };
    const set = async (): Promise<void> => {
      await files().mkdir(at('top/a/b'), { recursive: true });
      await files().writeFile(at('top/a/b/file'), 'inside');
      await files().writeFile(at('outside'), 'outside');
      await files().symlink('a/b', at('top/within'));
      await files().symlink('../file', at('top/a/b/up'));
      await files().symlink('b/../b/./file', at('top/a/winding'));
      await files().symlink(at('top/a/b/file'), at('top/absolute'));
      await files().symlink('/a/b/file', at('top/rooted'));
      await files().symlink('../outside', at('top/out'));
      await files().symlink(at('outside'), at('top/far'));
      await files().symlink('round', at('top/round'));
      await files().symlink(at('top'), at('top-link'));
    };

    it.each([
      ['a file', 'a/b/file', 'inside', 'inside'],
      ['a link within', 'within/file', 'inside', 'inside'],
      ['a winding link', 'a/winding', 'inside', 'inside'],
      ['a link up that stays', 'within/up', 'ENOENT', 'ENOENT'],
      ['an absolute link into the directory', 'absolute', 'inside', 'ENOENT'],
      ['a link that is absolute in the directory', 'rooted', 'EXDEV', 'inside'],
      ['a link out', 'out', 'EXDEV', 'ENOENT'],
      ['an absolute link out', 'far', 'EXDEV', 'ENOENT'],
      ['the way up', '../outside', 'EXDEV', 'ENOENT'],
      ['a link to itself', 'round', 'ELOOP', 'ELOOP'],
      ['the directory itself', '', 'EISDIR', 'EISDIR'],
      ['nothing', 'a/nothing', 'ENOENT', 'ENOENT'],
      ['below a file', 'a/b/file/x', 'ENOTDIR', 'ENOTDIR'],
    ])('%s', async (_, path, ofMachine, ofDirectory) => {
      await set();
      expect(await found(path, 'of the machine')).toBe(ofMachine);
      expect(await found(path, 'of the directory')).toBe(ofDirectory);
    });
  });
}
