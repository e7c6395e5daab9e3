/** What a machine does with held paths. */
import { describe, expect, it } from 'vitest';
import type { HeldPath, HostFiles } from '../../src/host/index.js';
import { codeOf, type HostContract, textOf } from './host-contract.js';

export function describeHeldPaths(contract: HostContract): void {
  const { at } = contract;
  const files = (): HostFiles => contract.host.files;
  const hold = (name: string): Promise<HeldPath> => contract.host.hold(at(name));
  /** Closes what a test holds even when it fails. */
  const holding = async (name: string, use: (held: HeldPath) => Promise<void>): Promise<void> => {
    const held = await hold(name);
    try {
      await use(held);
    } finally {
      await held.close();
    }
  };

  describe('held paths', () => {
    it('a link is not held, a link on the way to it is followed', async () => {
      await files().mkdir(at('directory/inner'), { recursive: true });
      await files().symlink('directory', at('link'));
      expect(await codeOf(hold('link'))).toBe('ELOOP');
      expect(await codeOf(hold('link/'))).toBe('ELOOP');
      expect(await codeOf(hold('nothing'))).toBe('ENOENT');
      await holding('link/inner', async (held) => {
        expect((await held.stat()).inode).toBe((await files().stat(at('directory/inner'))).inode);
      });
    });

    it('files are held, too', async () => {
      await files().writeFile(at('file'), 'content');
      await holding('file', async (held) => {
        expect(await held.stat()).toMatchObject({ kind: 'file', sizeBytes: 7 });
        expect(textOf(await files().readFile(held.procPath))).toBe('content');
        expect(await codeOf(held.child('x'))).toBe('ENOTDIR');
      });
    });

    it('a held directory stays the same when its name goes to another', async () => {
      await files().mkdir(at('directory'));
      await files().writeFile(at('directory/file'), 'mine');
      await files().mkdir(at('elsewhere'));
      await files().writeFile(at('elsewhere/file'), 'other');
      await holding('directory', async (held) => {
        const before = await held.stat();
        await files().rename(at('directory'), at('moved'));
        await files().symlink('elsewhere', at('directory'));
        expect((await held.stat()).inode).toBe(before.inode);
        expect(textOf(await files().readFile(`${held.procPath}/file`))).toBe('mine');
        expect(await files().readdir(held.procPath)).toEqual(['file']);
        await files().writeFile(`${held.procPath}/new`, 'x');
        expect(textOf(await files().readFile(at('moved/new')))).toBe('x');
        const child = await held.child('file');
        expect(textOf(await files().readFile(child.procPath))).toBe('mine');
        await child.close();
      });
    });

    it('a child is one name, and no link', async () => {
      await files().mkdir(at('directory/sub/deep'), { recursive: true });
      await files().symlink('sub', at('directory/link'));
      await files().symlink('/', at('directory/root'));
      await holding('directory', async (held) => {
        expect(await codeOf(held.child('link'))).toBe('ELOOP');
        expect(await codeOf(held.child('root'))).toBe('ELOOP');
        expect(await codeOf(held.child('nothing'))).toBe('ENOENT');
        for (const name of ['..', '.', '', 'sub/deep', '/etc'])
          expect(await codeOf(held.child(name)), `child ${name}`).toBe('EINVAL');
        expect(await codeOf(held.makeDirectory('..', 0o700))).toBe('EINVAL');
        const child = await held.child('sub');
        expect((await child.stat()).inode).toBe((await files().stat(at('directory/sub'))).inode);
        await child.close();
      });
    });

    it('a directory is made with exactly its mode, and the group of a setgid parent', async () => {
      await files().mkdir(at('directory'));
      await files().lchown(at('directory'), -1, 456);
      await files().chmod(at('directory'), 0o2777);
      await holding('directory', async (held) => {
        for (const mode of [0o777, 0o3777, 0o700]) {
          const name = mode.toString(8);
          const made = await held.makeDirectory(name, mode);
          expect(await made.stat()).toMatchObject({ kind: 'directory', mode, gid: 456 });
          await made.close();
          expect((await files().lstat(at(`directory/${name}`))).mode).toBe(mode);
        }
        expect(await codeOf(held.makeDirectory('777', 0o777))).toBe('EEXIST');
      });
    });

    it('chmod through a held path is about what is held', async () => {
      await files().mkdir(at('directory'));
      await files().mkdir(at('other'));
      await holding('directory', async (held) => {
        await files().rename(at('directory'), at('moved'));
        await files().symlink('other', at('directory'));
        await files().chmod(held.procPath, 0o711);
        expect((await files().lstat(at('moved'))).mode).toBe(0o711);
        expect((await files().lstat(at('other'))).mode).toBe(0o755);
      });
    });

    it('a held path is bound where its name leads by now does not matter', async () => {
      await files().mkdir(at('directory/sub'), { recursive: true });
      await files().writeFile(at('directory/sub/file'), 'mine');
      await files().mkdir(at('target'));
      await holding('directory/sub', async (held) => {
        await files().rename(at('directory/sub'), at('directory/moved'));
        await files().symlink('/etc', at('directory/sub'));
        await contract.host.mounts.mount({
          source: held.procPath,
          target: at('target'),
          options: ['bind', 'ro'],
          noCanonicalize: true,
        });
      });
      expect(await files().readdir(at('target'))).toEqual(['file']);
      expect(await codeOf(files().writeFile(at('target/x'), ''))).toBe('EROFS');
      await contract.host.mounts.unmount(at('target'));
    });

    it('what is held keeps its mount busy, until it is closed', async () => {
      await files().mkdir(at('memory'));
      await contract.host.mounts.mount({ source: 'tmpfs', target: at('memory'), fsType: 'tmpfs' });
      await holding('memory', async () => {
        expect(await codeOf(contract.host.mounts.unmount(at('memory')))).toBe('EBUSY');
      });
      await contract.host.mounts.unmount(at('memory'));
    });

    it('hold and child cross mounts as paths do', async () => {
      await files().mkdir(at('directory/memory'), { recursive: true });
      await contract.host.mounts.mount({ source: 'tmpfs', target: at('directory/memory'), fsType: 'tmpfs' });
      await files().writeFile(at('directory/memory/file'), '');
      await holding('directory', async (held) => {
        const child = await held.child('memory');
        expect(await files().readdir(child.procPath)).toEqual(['file']);
        await child.close();
      });
    });

    it('close may be repeated; nothing is reached through it afterwards', async () => {
      await files().mkdir(at('directory/sub'), { recursive: true });
      const held = await hold('directory');
      await held.close();
      await held.close();
      expect(await codeOf(held.child('sub'))).toBe('EBADF');
      expect(await codeOf(held.stat())).toBe('EBADF');
      expect(await codeOf(held.makeDirectory('x', 0o700))).toBe('EBADF');
    });

    it('a removed directory stays held and takes no entries', async () => {
      await files().mkdir(at('directory'));
      await holding('directory', async (held) => {
        await files().rmdir(at('directory'));
        expect((await held.stat()).kind).toBe('directory');
        expect(await codeOf(held.makeDirectory('sub', 0o700))).toBe('ENOENT');
      });
    });
  });
}
