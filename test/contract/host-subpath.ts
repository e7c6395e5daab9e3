/** subPath mounts on any machine: what is allowed, and every way out of the volume that somebody might try. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Host, isMissing, mountPointsUnder, removeTree } from '../../src/host/index.js';
import {
  cleanSubPaths,
  prepareSubPath,
  SubPathError,
  subPathTarget,
} from '../../src/volumes/subpath/index.js';
import { codeOf, type HostUnderTest, textOf } from './host-contract.js';
import { interposed } from './host-interposed.js';

export function describeSubPaths(name: string, create: () => Promise<HostUnderTest>): void {
  describe(`subPaths: ${name}`, () => {
    let underTest: HostUnderTest;
    let root: string;
    let count = 0;
    const at = (name: string): string => `${root}/${name}`;
    const files = (): Host['files'] => underTest.host.files;
    const place = (containerName = 'main', mountIndex = 0) => ({
      podDirectory: at('pod'),
      innerVolumeName: 'vol',
      containerName,
      mountIndex,
    });
    const prepare = (subPath: string, host = underTest.host, containerName = 'main'): Promise<string> =>
      prepareSubPath({
        ...place(containerName),
        host,
        volumePath: at('volume'),
        subPath,
        volumeMountName: 'data',
      });
    const clean = (host = underTest.host): Promise<void> =>
      cleanSubPaths({ host, podDirectory: at('pod'), innerVolumeName: 'vol' });
    const mountsLeft = async (): Promise<number> =>
      (await mountPointsUnder(underTest.host, at('pod'))).length;
    const exists = async (path: string): Promise<boolean> => (await codeOf(files().lstat(path))) === 'none';

    /** A pod, a volume with links of all kinds, and something outside that must stay out of reach. */
    const furnish = async (): Promise<void> => {
      root = `${underTest.directory}/case-${count++}`;
      await files().mkdir(at('pod'), { recursive: true });
      await files().mkdir(at('volume/dir/deep'), { recursive: true });
      await files().writeFile(at('volume/dir/marker'), 'inside');
      await files().writeFile(at('volume/dir/deep/marker'), 'inside');
      await files().writeFile(at('volume/file'), 'inside');
      await files().symlink('dir', at('volume/link'));
      await files().symlink(at('volume/dir'), at('volume/absolute-link'));
      await files().symlink('../dir/deep', at('volume/dir/up-link'));
      await files().symlink('file', at('volume/file-link'));
      await files().mkdir(at('outside/deep'), { recursive: true });
      await files().writeFile(at('outside/marker'), 'outside');
      await files().writeFile(at('outside/deep/marker'), 'outside');
      await files().symlink('../outside', at('volume/out'));
      await files().symlink(at('outside'), at('volume/absolute-out'));
      await files().symlink('../outside/marker', at('volume/out-file'));
      await files().symlink('nowhere', at('volume/dangling'));
      await files().symlink('../outside/nowhere', at('volume/dangling-out'));
      await files().symlink('loop', at('volume/loop'));
      await files().symlink('../volume-twin', at('volume/twin'));
      await files().mkdir(at('volume-twin'));
    };
    /** What is outside is as it was. */
    const expectUntouchedOutside = async (): Promise<void> => {
      expect([...(await files().readdir(at('outside')))].sort()).toEqual(['deep', 'marker']);
      expect(await files().readdir(at('outside/deep'))).toEqual(['marker']);
      expect(await files().readdir(at('volume-twin'))).toEqual([]);
      expect((await files().stat(at('outside'))).mode).toBe(0o755);
      expect((await files().stat(at('outside/deep'))).mode).toBe(0o755);
    };

    beforeAll(async () => {
      underTest = await create();
    });
    beforeEach(furnish);
    afterAll(async () => {
      for (const { target } of await mountPointsUnder(underTest.host, underTest.directory))
        await underTest.host.mounts.unmount(target);
      await underTest.dispose();
    });

    const allowed: readonly [rule: string, subPath: string, shown: string][] = [
      ['a directory', 'dir', 'marker'],
      ['a nested directory', 'dir/deep', 'marker'],
      ['a nested directory with needless slashes and dots', './dir//deep/', 'marker'],
      ['a file', 'file', ''],
      ['a link as last element that stays inside', 'link', 'marker'],
      ['a link in the middle that stays inside', 'link/deep', 'marker'],
      ['an absolute link that stays inside', 'absolute-link', 'marker'],
      ['a link that goes up and stays inside', 'dir/up-link', 'marker'],
      ['a link to a file inside', 'file-link', ''],
    ];
    it.each(allowed)('%s is mounted', async (_, subPath, shown) => {
      const target = await prepare(subPath);
      expect(target).toBe(subPathTarget(place()));
      expect(textOf(await files().readFile(shown === '' ? target : `${target}/${shown}`))).toBe('inside');
      await clean();
      expect(await files().readdir(at('pod'))).toEqual([]);
      expect(await mountsLeft()).toBe(0);
    });

    const refused: readonly [rule: string, subPath: string, message: string][] = [
      ['an absolute path', '/etc', 'error SubPath `/etc` must not be an absolute path'],
      ['the way up', '../outside', "unable to provision SubPath `../outside`: must not contain '..'"],
      ['the way up in the middle', 'dir/../../outside', 'must not contain'],
      [
        'a link to the outside',
        'out',
        'failed to prepare subPath for volumeMount "data" of container "main"',
      ],
      ['an absolute link to the outside', 'absolute-out', 'failed to prepare subPath'],
      ['a link in the middle to the outside', 'out/deep', 'failed to prepare subPath'],
      ['a link to a file outside', 'out-file', 'failed to prepare subPath'],
      ['a link to a directory whose name starts alike', 'twin', 'failed to prepare subPath'],
      ['a link to itself', 'loop', 'failed to prepare subPath'],
      ['a way through a file', 'file/x', 'failed to prepare subPath'],
      ['a new directory outside', 'out/new', 'failed to create subPath directory for volumeMount "data" of'],
      ['a new directory deep outside', 'absolute-out/a/b', 'failed to create subPath directory'],
      ['a link to nowhere', 'dangling', 'failed to create subPath directory'],
      ['a new directory below a link to nowhere', 'dangling/x', 'failed to create subPath directory'],
      ['a link to nowhere outside', 'dangling-out', 'failed to create subPath directory'],
    ];
    it.each(refused)('%s is refused', async (_, subPath, message) => {
      const failure = await prepare(subPath).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(SubPathError);
      expect(String(failure)).toContain(message);
      await expectUntouchedOutside();
      expect(await mountsLeft()).toBe(0);
      expect(await files().readdir(at('pod'))).toEqual([]);
    });

    it('what is missing is created with the mode and group of the volume', async () => {
      await files().lchown(at('volume'), -1, 123);
      await files().chmod(at('volume'), 0o3777);
      const target = await prepare('new/er');
      expect(await files().stat(at('volume/new'))).toMatchObject({ mode: 0o3777, uid: 0, gid: 123 });
      expect(await files().stat(target)).toMatchObject({ kind: 'directory', mode: 0o3777, gid: 123 });
      await prepare('link/new', underTest.host, 'other');
      expect(await exists(at('volume/dir/new'))).toBe(true);
      await clean();
    });

    it('directories of the mounts are closed to others', async () => {
      await prepare('dir');
      await prepare('file', underTest.host, 'other');
      await clean();
      await prepare('dir');
      for (const dir of ['volume-subpaths', 'volume-subpaths/vol', 'volume-subpaths/vol/main'])
        expect((await files().stat(at(`pod/${dir}`))).mode, dir).toBe(0o750);
      await underTest.host.mounts.unmount(subPathTarget(place()));
      expect(await files().stat(subPathTarget(place()))).toMatchObject({ kind: 'directory', mode: 0o750 });
      await clean();
      const target = await prepare('file');
      await underTest.host.mounts.unmount(target);
      expect(await files().stat(target)).toMatchObject({ kind: 'file', mode: 0o640, sizeBytes: 0 });
      await clean();
    });

    it('a mount of the same is kept, a mount of another is replaced', async () => {
      const target = await prepare('dir');
      await prepare('dir');
      await prepare('link');
      expect(await mountsLeft()).toBe(1);
      await files().rename(at('volume/dir'), at('volume/old'));
      await files().mkdir(at('volume/dir'));
      await files().writeFile(at('volume/dir/marker'), 'second');
      await prepare('dir');
      expect(await mountsLeft()).toBe(1);
      expect(textOf(await files().readFile(`${target}/marker`))).toBe('second');
      await prepare('file');
      expect(textOf(await files().readFile(target))).toBe('inside');
      expect(await mountsLeft()).toBe(1);
      await clean();
    });

    it('a file that is replaced stays as it was mounted, until it is prepared again', async () => {
      const target = await prepare('file');
      await files().writeFile(at('volume/file.new'), 'second');
      await files().rename(at('volume/file.new'), at('volume/file'));
      expect(textOf(await files().readFile(target))).toBe('inside');
      await prepare('file');
      expect(textOf(await files().readFile(target))).toBe('second');
      await clean();
    });

    it('clean-up takes all mounts of the volume and none of its content', async () => {
      await prepare('dir');
      await prepare('file', underTest.host, 'other');
      await prepareSubPath({
        ...place('main', 3),
        host: underTest.host,
        volumePath: at('volume'),
        subPath: 'dir/deep',
        volumeMountName: 'data',
      });
      await files().mkdir(at('pod/volume-subpaths/another'));
      await clean();
      await clean();
      expect(await mountsLeft()).toBe(0);
      expect(await files().readdir(at('pod/volume-subpaths'))).toEqual(['another']);
      expect(textOf(await files().readFile(at('volume/dir/deep/marker')))).toBe('inside');
      expect(textOf(await files().readFile(at('volume/file')))).toBe('inside');
    });

    it('clean-up works after the source is gone', async () => {
      await prepare('dir/deep');
      await removeTree(underTest.host, at('volume/dir'));
      await clean();
      expect(await files().readdir(at('pod'))).toEqual([]);
      expect(await mountsLeft()).toBe(0);
    });

    it('clean-up takes mounts that lie on one another', async () => {
      const target = await prepare('dir');
      await underTest.host.mounts.mount({ source: at('volume/dir/deep'), target, options: ['bind'] });
      await clean();
      expect(await mountsLeft()).toBe(0);
    });

    it('clean-up removes nothing that is neither mounted nor empty', async () => {
      await files().mkdir(at('pod/volume-subpaths/vol/main/0'), { recursive: true });
      await files().writeFile(at('pod/volume-subpaths/vol/main/0/precious'), 'kept');
      await expect(clean()).rejects.toThrow('ENOTEMPTY');
      expect(await exists(at('pod/volume-subpaths/vol/main/0/precious'))).toBe(true);
    });

    it('a failed bind leaves nothing behind', async () => {
      const failing = interposed(underTest.host, async (call) => {
        if (call === 'mounts.mount') throw new Error('no mount today');
      });
      await expect(prepare('dir', failing)).rejects.toThrow('failed to prepare subPath');
      expect(await files().readdir(at('pod'))).toEqual([]);
    });

    /** What somebody in the container does at one moment of the preparation. */
    const attacks: readonly [name: string, subPath: string, attack: () => Promise<void>][] = [
      [
        'the directory becomes a link to the outside',
        'dir',
        async () => {
          await files().rename(at('volume/dir'), at('volume/aside'));
          await files().symlink('../outside', at('volume/dir'));
        },
      ],
      [
        'the directory in the middle becomes an absolute link to the outside',
        'dir/deep',
        async () => {
          await files().rename(at('volume/dir'), at('volume/aside'));
          await files().symlink(at('outside'), at('volume/dir'));
        },
      ],
      [
        'the last directory becomes a link to the outside',
        'dir/deep',
        async () => {
          await files().rename(at('volume/dir/deep'), at('volume/dir/aside'));
          await files().symlink(at('outside/deep'), at('volume/dir/deep'));
        },
      ],
      [
        'the file becomes a link to a file outside',
        'file',
        async () => {
          await files().symlink('../outside/marker', at('volume/file.new'));
          await files().rename(at('volume/file.new'), at('volume/file'));
        },
      ],
      [
        'the link is turned to the outside',
        'link/deep',
        async () => {
          await files().symlink('../outside', at('volume/link.new'));
          await files().rename(at('volume/link.new'), at('volume/link'));
        },
      ],
      [
        'what is about to be created appears as a link to the outside',
        'new/er',
        async () => {
          const there = await exists(at('volume/new'));
          if (there) await files().rename(at('volume/new'), at('volume/aside'));
          await files().symlink('../outside', at('volume/new'));
        },
      ],
      [
        'what was just created is replaced by a link to the outside',
        'new/deep/er',
        async () => {
          if (!(await exists(at('volume/new/deep')))) return;
          await files().rename(at('volume/new/deep'), at('volume/new/aside'));
          await files().symlink('../../outside/deep', at('volume/new/deep'));
        },
      ],
    ];
    it.each(attacks)('a race at every step: %s', { timeout: 60_000 }, async (_, subPath, attack) => {
      for (let step = 1; ; step++) {
        await furnish();
        let calls = 0;
        const host = interposed(underTest.host, async () => {
          if (++calls === step) await attack();
        });
        const outcome = await prepare(subPath, host).catch((error: unknown) => error);
        if (typeof outcome === 'string') await expectInside(outcome);
        else expect(outcome).toBeInstanceOf(SubPathError);
        await expectUntouchedOutside();
        await clean();
        expect(await mountsLeft()).toBe(0);
        expect(await files().readdir(at('pod'))).toEqual([]);
        if (calls < step) break;
      }
    });

    /** A mounted directory may be empty or have the marker of the inside, but never that of the outside. */
    const expectInside = async (target: string): Promise<void> => {
      const isFile = (await files().stat(target)).kind === 'file';
      try {
        expect(textOf(await files().readFile(isFile ? target : `${target}/marker`))).toBe('inside');
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    };
  });
}
