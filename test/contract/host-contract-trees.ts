/** What is done with trees and mount points on any machine. */
import { describe, expect, it } from 'vitest';
import {
  cleanMountPoint,
  type HeldPath,
  type HostFiles,
  isMountPoint,
  mountPointsUnder,
  removeEmptyTree,
  removeTree,
} from '../../src/host/index.js';
import { codeOf, type HostContract, textOf } from './host-contract.js';
import { interposed } from './host-interposed.js';

export function describeTrees(contract: HostContract): void {
  const { at } = contract;
  const files = (): HostFiles => contract.host.files;
  const tmpfs = async (name: string): Promise<void> => {
    await files().mkdir(at(name), { recursive: true });
    await contract.host.mounts.mount({ source: 'tmpfs', target: at(name), fsType: 'tmpfs' });
  };

  describe('trees', () => {
    it('everything is removed, and what links name is not', async () => {
      await files().mkdir(at('tree/a/b'), { recursive: true });
      await files().mkdir(at('outside'));
      await files().writeFile(at('outside/file'), '');
      await files().writeFile(at('tree/a/file'), '');
      await files().symlink('../../outside', at('tree/a/link'));
      await removeTree(contract.host, at('tree'));
      await removeTree(contract.host, at('tree'));
      expect(await files().readdir(at('.'))).toEqual(['outside']);
      expect(await files().readdir(at('outside'))).toEqual(['file']);
    });

    it('a file and a link are trees, too', async () => {
      await files().mkdir(at('directory'));
      await files().writeFile(at('file'), '');
      await files().symlink('directory', at('link'));
      await removeTree(contract.host, at('file'));
      await removeTree(contract.host, at('link'));
      expect(await files().readdir(at('.'))).toEqual(['directory']);
    });

    it('a mount in it keeps it whole', async () => {
      await tmpfs('tree/a/memory');
      await files().writeFile(at('tree/file'), '');
      await files().writeFile(at('tree/a/memory/file'), '');
      await expect(removeTree(contract.host, at('tree'))).rejects.toMatchObject({
        code: 'EBUSY',
        message: `cannot delete directory ${at('tree/a/memory')}: it is a mount point`,
      });
      expect([...(await files().readdir(at('tree')))].sort()).toEqual(['a', 'file']);
      expect(await files().readdir(at('tree/a/memory'))).toEqual(['file']);
    });

    it.each(['tree/a', 'tree', 'tree/a/b'])(
      'what is mounted at %s after the mount table was read stays, also of the same file system',
      async (target) => {
        await files().mkdir(at('tree/a/b'), { recursive: true });
        await files().mkdir(at('outside/b/deep'), { recursive: true });
        await files().writeFile(at('outside/file'), '');
        await files().writeFile(at('outside/b/deep/file'), '');
        await contract.host.mounts.mount({ source: at('outside'), target: at(target), options: ['bind'] });
        await expect(removeTree(contract.host, at('tree'), { isWithoutMounts: true })).rejects.toMatchObject({
          code: 'EBUSY',
          message: `cannot delete directory ${at(target)}: it is a mount point`,
        });
        expect([...(await files().readdir(at('outside')))].sort()).toEqual(['b', 'file']);
        expect(await files().readdir(at('outside/b/deep'))).toEqual(['file']);
      },
    );

    it('a file that something is mounted on stays', async () => {
      await files().mkdir(at('tree'));
      await files().writeFile(at('tree/file'), '');
      await files().writeFile(at('outside'), 'kept');
      await contract.host.mounts.mount({ source: at('outside'), target: at('tree/file'), options: ['bind'] });
      expect(await codeOf(removeTree(contract.host, at('tree'), { isWithoutMounts: true }))).toBe('EBUSY');
      expect(textOf(await files().readFile(at('outside')))).toBe('kept');
    });

    it('a tree of more names than are listed at once is removed', async () => {
      await files().mkdir(at('tree/sub'), { recursive: true });
      for (let index = 0; index < 600; index++) {
        await files().writeFile(at(`tree/file-${index}`), '');
        await files().writeFile(at(`tree/sub/file-${index}`), '');
      }
      await removeTree(contract.host, at('tree'));
      expect(await files().readdir(at('.'))).toEqual([]);
    });

    it('a tree deeper than any path is removed', async () => {
      await files().mkdir(at('tree'));
      let held: HeldPath = await contract.host.hold(at('tree'));
      for (let depth = 0; depth < 150; depth++) {
        const next = await held.makeDirectory('a-name-that-makes-the-path-long', 0o755);
        await held.close();
        held = next;
      }
      await held.close();
      await removeTree(contract.host, at('tree'));
      expect(await files().readdir(at('.'))).toEqual([]);
    });

    it('a directory that becomes a link while it is removed leads nowhere', async () => {
      for (let step = 1, isReached = true; isReached; step++) {
        await files().mkdir(at('tree/a/b'), { recursive: true });
        await files().writeFile(at('tree/a/b/file'), '');
        await files().mkdir(at('outside/b'), { recursive: true });
        await files().writeFile(at('outside/b/file'), '');
        let calls = 0;
        isReached = false;
        const host = interposed(contract.host, async () => {
          if (++calls !== step) return;
          isReached = true;
          if ((await codeOf(files().lstat(at('tree/a')))) !== 'none') return;
          await files().rename(at('tree/a'), at(`aside-${step}`));
          await files().symlink('../outside', at('tree/a'));
        });
        await removeTree(host, at('tree')).catch(() => {});
        expect(await files().readdir(at('outside/b')), `step ${step}`).toEqual(['file']);
        await removeTree(contract.host, at('tree'));
      }
    });

    it('empty directories are removed, however many there are, and a missing tree is none', async () => {
      await files().mkdir(at('tree/a/b'), { recursive: true });
      for (let index = 0; index < 600; index++) await files().mkdir(at(`tree/directory-${index}`));
      await removeEmptyTree(contract.host, at('tree'));
      await removeEmptyTree(contract.host, at('tree'));
      expect(await files().readdir(at('.'))).toEqual([]);
    });

    it.each(['file', 'link'])('a %s among empty directories stays, with what it names', async (kind) => {
      await files().mkdir(at('tree/a'), { recursive: true });
      await files().mkdir(at('outside/empty'), { recursive: true });
      if (kind === 'file') await files().writeFile(at('tree/a/entry'), 'kept');
      else await files().symlink('../../outside', at('tree/a/entry'));
      await expect(removeEmptyTree(contract.host, at('tree'))).rejects.toMatchObject({
        code: 'ENOTEMPTY',
        message: `${at('tree/a/entry')} is in the way; remove it if nothing needs it`,
      });
      expect(await files().readdir(at('tree/a'))).toEqual(['entry']);
      expect(await files().readdir(at('outside'))).toEqual(['empty']);
      await files().symlink('outside', at('link'));
      expect(await codeOf(removeEmptyTree(contract.host, at('link')))).toBe('ELOOP');
    });

    it.each(['tree', 'tree/a'])('empty directories of a mount at %s stay', async (target) => {
      await files().mkdir(at('tree/a'), { recursive: true });
      await files().mkdir(at('outside/empty'), { recursive: true });
      await contract.host.mounts.mount({ source: at('outside'), target: at(target), options: ['bind'] });
      expect(await codeOf(removeEmptyTree(contract.host, at('tree')))).toBe('EBUSY');
      expect(await files().readdir(at('outside'))).toEqual(['empty']);
    });

    it('an empty directory that becomes a link while it is removed leads nowhere', async () => {
      for (let step = 1, isReached = true; isReached; step++) {
        await files().mkdir(at('tree/a/b'), { recursive: true });
        await files().mkdir(at('outside/b'), { recursive: true });
        let calls = 0;
        isReached = false;
        const host = interposed(contract.host, async () => {
          if (++calls !== step) return;
          isReached = true;
          if ((await codeOf(files().lstat(at('tree/a')))) !== 'none') return;
          await files().rename(at('tree/a'), at(`aside-${step}`));
          await files().symlink('../outside', at('tree/a'));
        });
        await removeEmptyTree(host, at('tree')).catch(() => {});
        expect(await files().readdir(at('outside')), `step ${step}`).toEqual(['b']);
        await removeTree(contract.host, at('tree'));
      }
    });

    it('mount points are told by the table, also those of the same file system', async () => {
      await files().mkdir(at('source'));
      await files().mkdir(at('target'));
      await files().symlink('.', at('link'));
      await contract.host.mounts.mount({ source: at('source'), target: at('target'), options: ['bind'] });
      expect(await isMountPoint(contract.host, at('target'))).toBe(true);
      expect(await isMountPoint(contract.host, at('target/'))).toBe(true);
      expect(await isMountPoint(contract.host, at('link/target'))).toBe(true);
      expect(await isMountPoint(contract.host, at('source'))).toBe(false);
      expect(await isMountPoint(contract.host, at('nothing'))).toBe(false);
      expect(await isMountPoint(contract.host, at('nothing/below'))).toBe(false);
    });

    it('mounts below a path come from the inside out', async () => {
      await tmpfs('outer');
      await tmpfs('outer/inner');
      await tmpfs('outer-twin');
      const targets = (await mountPointsUnder(contract.host, at('outer'))).map(({ target }) => target);
      expect(targets).toEqual([at('outer/inner'), at('outer')]);
    });

    it('a mount point is cleaned, however often it is mounted, and its content stays', async () => {
      await files().mkdir(at('source'));
      await files().writeFile(at('source/file'), '');
      await files().mkdir(at('target'));
      for (let times = 0; times < 2; times++)
        await contract.host.mounts.mount({ source: at('source'), target: at('target'), options: ['bind'] });
      await cleanMountPoint(contract.host, at('target'));
      await cleanMountPoint(contract.host, at('target'));
      expect(await files().readdir(at('.'))).toEqual(['source']);
      expect(await files().readdir(at('source'))).toEqual(['file']);
      expect(await codeOf(cleanMountPoint(contract.host, at('source')))).toBe('ENOTEMPTY');
    });

    it('a mount point is cleaned with what is mounted in it, and the same stays mounted elsewhere', async () => {
      const { mounts } = contract.host;
      await tmpfs('source');
      await mounts.mount({ target: at('source'), options: ['shared'] });
      await files().mkdir(at('target'));
      await mounts.mount({ source: at('source'), target: at('target'), options: ['bind'] });
      // The kernel shows this one in the target by itself; a simulated machine has to be told.
      await tmpfs('source/inner');
      if (!(await isMountPoint(contract.host, at('target/inner')))) await tmpfs('target/inner');
      await cleanMountPoint(contract.host, at('target'));
      expect(await files().readdir(at('.'))).toEqual(['source']);
      expect(await isMountPoint(contract.host, at('source/inner'))).toBe(true);
    });
  });
}
