/** What a machine does with mounts. */
import { describe, expect, it } from 'vitest';
import { Cancelled } from '../../src/async/index.js';
import type { HostFiles, HostMounts, MountPoint } from '../../src/host/index.js';
import { codeOf, type HostContract, textOf } from './host-contract.js';

export function describeMounts(contract: HostContract): void {
  const { at } = contract;
  const files = (): HostFiles => contract.host.files;
  const mounts = (): HostMounts => contract.host.mounts;
  const mountsAt = async (name: string): Promise<readonly MountPoint[]> =>
    (await mounts().list()).filter(({ target }) => target === at(name));
  const mountAt = async (name: string): Promise<MountPoint> => {
    const [mount, ...others] = await mountsAt(name);
    expect(others).toEqual([]);
    expect(mount, `mount at ${name}`).toBeDefined();
    return mount!;
  };
  const tmpfs = async (name: string, ...options: string[]): Promise<void> => {
    await files().mkdir(at(name), { recursive: true });
    await mounts().mount({ source: 'tmpfs', target: at(name), fsType: 'tmpfs', options });
  };
  const bind = (source: string, target: string, ...options: string[]): Promise<void> =>
    mounts().mount({ source: at(source), target: at(target), options: ['bind', ...options] });

  describe('mounts', () => {
    it('a tmpfs tells its size and has a root of mode 1777, and hides what was there', async () => {
      await files().mkdir(at('memory'));
      await files().writeFile(at('memory/below'), '');
      await tmpfs('memory', 'size=10485760');
      const mount = await mountAt('memory');
      expect(mount).toMatchObject({ source: 'tmpfs', fsType: 'tmpfs', root: '/', propagation: 'private' });
      expect(mount.options).toEqual(['rw', 'relatime']);
      expect(mount.superOptions).toContain('rw');
      expect(mount.superOptions).toContain('size=10240k');
      expect(await files().readdir(at('memory'))).toEqual([]);
      expect(await files().stat(at('memory'))).toMatchObject({ mode: 0o1777, uid: 0, gid: 0 });
      await mounts().unmount(at('memory'));
      expect(await files().readdir(at('memory'))).toEqual(['below']);
      expect(await mountsAt('memory')).toEqual([]);
    });

    it('a size is shown in whole pages', async () => {
      await tmpfs('memory', 'size=5000');
      expect((await mountAt('memory')).superOptions).toContain('size=8k');
    });

    it('files on a tmpfs are of another device', async () => {
      await tmpfs('memory');
      await files().writeFile(at('memory/file'), 'x');
      await files().writeFile(at('file'), 'y');
      const [inside, outside] = [await files().stat(at('memory/file')), await files().stat(at('file'))];
      expect(inside.device).not.toBe(outside.device);
      expect(await codeOf(files().rename(at('file'), at('memory/moved')))).toBe('EXDEV');
    });

    it('a mount point can be neither removed nor renamed nor replaced', async () => {
      await tmpfs('memory');
      await files().mkdir(at('other'));
      await files().writeFile(at('source'), '');
      await files().writeFile(at('target'), '');
      await bind('source', 'target');
      expect(await codeOf(files().rmdir(at('memory')))).toBe('EBUSY');
      expect(await codeOf(files().rename(at('memory'), at('moved')))).toBe('EBUSY');
      expect(await codeOf(files().rename(at('other'), at('memory')))).toBe('EBUSY');
      expect(await codeOf(files().unlink(at('target')))).toBe('EBUSY');
    });

    it('a directory above a mount point can be renamed, and the mount goes with it', async () => {
      await tmpfs('directory/memory');
      await files().rename(at('directory'), at('renamed'));
      expect((await mountAt('renamed/memory')).fsType).toBe('tmpfs');
    });

    it('a bind shows the same files, written through either side', async () => {
      await files().mkdir(at('source'));
      await files().mkdir(at('target'));
      await bind('source', 'target');
      await files().writeFile(at('source/file'), 'one');
      expect(textOf(await files().readFile(at('target/file')))).toBe('one');
      await files().writeFile(at('target/file'), 'two');
      expect(textOf(await files().readFile(at('source/file')))).toBe('two');
      expect((await files().stat(at('target'))).inode).toBe((await files().stat(at('source'))).inode);
      expect((await mountAt('target')).root).toMatch(/\/source$/);
      expect(await files().realpath(at('target/file'))).toBe(at('target/file'));
    });

    it('a file is bound over a file, and not over a directory', async () => {
      await files().writeFile(at('source'), 'bound');
      await files().writeFile(at('target'), 'hidden');
      await files().mkdir(at('directory'));
      await bind('source', 'target');
      expect(textOf(await files().readFile(at('target')))).toBe('bound');
      expect(await codeOf(bind('source', 'directory'))).toBe('ENOTDIR');
      await mounts().unmount(at('target'));
      expect(textOf(await files().readFile(at('target')))).toBe('hidden');
    });

    it('a read-only bind refuses writes while its source takes them', async () => {
      await files().mkdir(at('source'));
      await files().mkdir(at('target'));
      await files().writeFile(at('source/old'), '');
      await bind('source', 'target', 'ro');
      expect((await mountAt('target')).options[0]).toBe('ro');
      expect(await codeOf(files().writeFile(at('target/file'), ''))).toBe('EROFS');
      expect(await codeOf(files().unlink(at('target/old')))).toBe('EROFS');
      expect(await codeOf(files().chmod(at('target/old'), 0o600))).toBe('EROFS');
      expect(await codeOf(files().mkdir(at('target/directory')))).toBe('EROFS');
      expect(await codeOf(files().mkdir(at('target/directory/below'), { recursive: true }))).toBe('EROFS');
      await files().writeFile(at('source/file'), 'x');
      expect(textOf(await files().readFile(at('target/file')))).toBe('x');
    });

    it('a bind keeps the flags of the mount that it is taken from', async () => {
      await tmpfs('memory', 'nosuid', 'nodev', 'noexec', 'noatime');
      await files().mkdir(at('memory/directory'));
      await files().mkdir(at('target'));
      await bind('memory/directory', 'target', 'ro');
      expect((await mountAt('target')).options).toEqual(['ro', 'nosuid', 'nodev', 'noexec', 'noatime']);
      expect((await mountAt('target')).root).toBe('/directory');
    });

    it('a remount changes the flags', async () => {
      await tmpfs('memory');
      await mounts().mount({ target: at('memory'), options: ['bind', 'remount', 'ro', 'nosuid'] });
      expect((await mountAt('memory')).options).toEqual(['ro', 'nosuid', 'relatime']);
      expect(await codeOf(files().writeFile(at('memory/file'), ''))).toBe('EROFS');
      await mounts().mount({ target: at('memory'), options: ['bind', 'remount', 'rw'] });
      await files().writeFile(at('memory/file'), '');
    });

    it('a remount changes the size of a file system in memory, not below what it holds', async () => {
      await tmpfs('memory', 'size=1048576');
      await files().writeFile(at('memory/file'), 'x'.repeat(20_000));
      const resize = (bytes: number): Promise<void> =>
        mounts().mount({ target: at('memory'), options: ['remount', `size=${bytes}`] });
      await resize(2_097_152);
      expect((await mountAt('memory')).superOptions).toContain('size=2048k');
      await resize(65_537);
      expect((await mountAt('memory')).superOptions).toContain('size=68k');
      expect(await codeOf(resize(4096))).toBe('EINVAL');
      expect((await mountAt('memory')).superOptions).toContain('size=68k');
      expect(textOf(await files().readFile(at('memory/file')))).toHaveLength(20_000);
    });

    it('mounts are nested, and unmounted from the inside', async () => {
      await tmpfs('outer');
      await tmpfs('outer/inner');
      await files().writeFile(at('outer/inner/file'), '');
      expect(await codeOf(mounts().unmount(at('outer')))).toBe('EBUSY');
      await mounts().unmount(at('outer/inner'));
      expect(await files().readdir(at('outer/inner'))).toEqual([]);
      await mounts().unmount(at('outer'));
      expect(await files().readdir(at('outer'))).toEqual([]);
    });

    it('a lazy unmount takes away a mount in use, with all that is mounted in it', async () => {
      await tmpfs('outer');
      await tmpfs('outer/inner');
      const held = await contract.host.hold(at('outer'));
      await mounts().unmount(at('outer'), { lazy: true });
      expect(await files().readdir(at('outer'))).toEqual([]);
      expect((await mounts().list()).filter(({ target }) => target.startsWith(at('outer')))).toEqual([]);
      await held.close();
      await mounts().unmount(at('outer'), { lazy: true });
    });

    it('a plain bind leaves mounts below its source out', async () => {
      await tmpfs('source/inner');
      await files().writeFile(at('source/inner/file'), '');
      await files().mkdir(at('target'));
      await bind('source', 'target');
      expect(await files().readdir(at('target/inner'))).toEqual([]);
    });

    it('one mount covers another at the same place', async () => {
      await tmpfs('memory');
      await files().writeFile(at('memory/first'), '');
      await tmpfs('memory');
      expect(await mountsAt('memory')).toHaveLength(2);
      expect(await files().readdir(at('memory'))).toEqual([]);
      await mounts().unmount(at('memory'));
      expect(await files().readdir(at('memory'))).toEqual(['first']);
    });

    it('names with blanks and backslashes are told as they are', async () => {
      await tmpfs('a b\\c\td');
      expect((await mountAt('a b\\c\td')).fsType).toBe('tmpfs');
    });

    it('unmounting where nothing is mounted is fine, where nothing is, it is not', async () => {
      await files().mkdir(at('directory'));
      await mounts().unmount(at('directory'));
      expect(await codeOf(mounts().unmount(at('nothing')))).toBe('ENOENT');
    });

    it('a failure tells the command, its arguments and what it said', async () => {
      const request = {
        source: 'tmpfs',
        target: at('nothing'),
        fsType: 'tmpfs',
        options: ['size=4096', 'ro'],
      };
      await expect(mounts().mount(request)).rejects.toMatchObject({
        name: 'HostError',
        code: 'ENOENT',
        path: at('nothing'),
        message: expect.stringContaining(
          `mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t tmpfs -o size=4096,ro -- tmpfs ${at('nothing')}\nOutput: mount: ${at('nothing')}: mount point does not exist.`,
        ),
      });
    });

    it('what cannot be mounted fails with a code', async () => {
      await files().mkdir(at('target'));
      await files().writeFile(at('file'), '');
      expect(await codeOf(bind('nothing', 'target'))).toBe('ENOENT');
      expect(await codeOf(tmpfs('target', 'size=banana'))).toBe('EINVAL');
      const overFile = { source: 'tmpfs', target: at('file'), fsType: 'tmpfs' };
      expect(await codeOf(mounts().mount(overFile))).toBe('ENOTDIR');
      expect(await codeOf(mounts().mount({ target: at('target'), options: ['remount', 'ro'] }))).toBe(
        'EINVAL',
      );
    });

    it('a cancelled mount mounts nothing', async () => {
      await files().mkdir(at('target'));
      const request = { source: 'tmpfs', target: at('target'), fsType: 'tmpfs' };
      await expect(mounts().mount(request, AbortSignal.abort())).rejects.toThrow(Cancelled);
      expect(await mountsAt('target')).toEqual([]);
    });

    it('makeShared binds a directory to itself and shares it, once', async () => {
      await files().mkdir(at('root'));
      await files().writeFile(at('root/file'), 'kept');
      await files().symlink('root', at('link'));
      await mounts().makeShared(at('root'));
      await mounts().makeShared(at('root'));
      await mounts().makeShared(at('link'));
      expect(await mountAt('root')).toMatchObject({ propagation: 'shared' });
      expect(textOf(await files().readFile(at('root/file')))).toBe('kept');
      await tmpfs('root/memory');
      expect(await mountAt('root/memory')).toMatchObject({ propagation: 'shared' });
    });

    it('makeShared takes a mount point as it is', async () => {
      await tmpfs('root');
      await tmpfs('root/inner');
      await mounts().makeShared(at('root'));
      expect(await mountAt('root')).toMatchObject({ propagation: 'shared', fsType: 'tmpfs' });
      expect(await mountAt('root/inner')).toMatchObject({ propagation: 'shared' });
    });

    it('makeShared hides no mount', async () => {
      await files().mkdir(at('root'));
      await tmpfs('root/inner');
      await files().writeFile(at('root/inner/file'), 'seen');
      await expect(mounts().makeShared(at('root'))).rejects.toMatchObject({ code: 'EBUSY' });
      expect(textOf(await files().readFile(at('root/inner/file')))).toBe('seen');
      await mounts().unmount(at('root/inner'));
      await files().rmdir(at('root/inner'));
      await mounts().makeShared(at('root'));
      expect(await mountAt('root')).toMatchObject({ propagation: 'shared' });
    });
  });
}
