/** emptyDir and hostPath volumes. */
import { describe, expect, it } from 'vitest';
import { mountAt } from '../../src/host/index.js';
import type { PodSpec, Volume } from '../../src/kube/index.js';
import { mountedPageBytes } from '../../src/volumes/plugins/huge-pages.js';
import { podOf, type VolumeContract } from './volume-contract.js';

const limitedTo = (memory: string): Partial<PodSpec> => ({
  containers: [{ name: 'app', image: 'app:1', resources: { limits: { memory } } }],
});
const inGroup: Partial<PodSpec> = { securityContext: { fsGroup: 123 } };

export function describeDirectoryVolumes(contract: VolumeContract): void {
  describe('emptyDir', () => {
    const onDisk = podOf([{ name: 'cache', emptyDir: {} }]);
    const inMemory = (emptyDir: Volume['emptyDir'] = {}, spec: Partial<PodSpec> = {}) =>
      podOf([{ name: 'cache', emptyDir: { medium: 'Memory', ...emptyDir } }], spec);

    it('on disk may be written by all, whatever the umask', async () => {
      const { bench } = contract;
      const path = await bench.setUp(onDisk);
      expect(path).toBe(`${bench.rootDir}/pods/pod-uid/volumes/kubernetes.io~empty-dir/cache`);
      expect(await bench.owner(path)).toBe('777 0:0');
      expect(await bench.mode(`${bench.rootDir}/pods/pod-uid/volumes`)).toBe('750');
    });

    it('keeps its content when it is set up again', async () => {
      const { bench } = contract;
      const path = await bench.setUp(onDisk);
      await bench.host.files.writeFile(`${path}/file`, 'x');
      await bench.setUp(onDisk);
      expect(await bench.names(path)).toEqual(['file']);
    });

    it('is made again when its marker stands and the directory does not', async () => {
      const { bench } = contract;
      const path = await bench.setUp(onDisk);
      await bench.host.files.rmdir(path);
      await bench.setUp(onDisk);
      expect(await bench.mode(path)).toBe('777');
    });

    it.each([
      ['on disk', '', '750'],
      ['in memory, below its own root', 'Memory', '1777'],
    ])('has the mode that it asks for, %s', async (_rule, medium, mode) => {
      const { bench } = contract;
      const pod = podOf([{ name: 'cache', emptyDir: { medium, mode: 0o750 } }]);
      const before = process.umask(0o077);
      try {
        const path = await bench.setUp(pod);
        expect(await bench.mode(path)).toBe(mode);
        if (medium === '') return;
        await bench.host.mounts.unmount(path);
        expect(await bench.mode(path)).toBe('750');
      } finally {
        process.umask(before);
      }
    });

    it('belongs to the group of the pod', async () => {
      const { bench } = contract;
      const onDiskInGroup = podOf([{ name: 'cache', emptyDir: {} }], inGroup);
      expect(await bench.owner(await bench.setUp(onDiskInGroup))).toBe('2777 0:123');
      expect(
        await bench.owner(
          await bench.setUp({
            ...inMemory({}, inGroup),
            metadata: { uid: 'm', name: 'p', namespace: 'default' },
          }),
        ),
      ).toBe('3777 0:123');
    });

    it('goes with all that it holds', async () => {
      const { bench } = contract;
      const path = await bench.setUp(onDisk);
      await bench.host.files.mkdir(`${path}/a/b`, { recursive: true });
      await bench.host.files.writeFile(`${path}/a/b/file`, 'x');
      await bench.host.files.symlink('/etc/passwd', `${path}/a/link`);
      await bench.tearDown(onDisk);
      expect(await bench.exists(path)).toBe(false);
      expect(await bench.names(`${bench.rootDir}/pods/pod-uid/plugins/kubernetes.io~empty-dir`)).toEqual([]);
      await bench.tearDown(onDisk);
      expect((await bench.host.files.stat('/')).kind).toBe('directory');
    });

    it.each([
      ['on disk', onDisk],
      ['in memory', inMemory()],
    ])('%s goes with what was mounted in it, and that stays where it comes from', async (_where, pod) => {
      const { bench, at } = contract;
      const path = await bench.setUp(pod);
      const { files, mounts } = bench.host;
      await files.mkdir(`${path}/mnt`);
      await files.mkdir(at('precious'));
      // As on most machines: what happens in a copy of a shared mount happens in the original, too.
      await mounts.mount({ source: 'tmpfs', target: at('precious'), fsType: 'tmpfs', options: ['shared'] });
      await files.writeFile(`${at('precious')}/file`, 'x');
      await files.mkdir(`${at('precious')}/deep`);
      await mounts.mount({ source: 'tmpfs', target: `${at('precious')}/deep`, fsType: 'tmpfs' });
      await files.writeFile(`${at('precious')}/deep/file`, 'x');
      await mounts.mount({ source: at('precious'), target: `${path}/mnt`, options: ['rbind'] });
      await bench.tearDown(pod);
      expect(await bench.exists(path)).toBe(false);
      expect(await bench.mountsBelow()).toEqual([]);
      expect(await bench.names(at('precious'))).toEqual(['deep', 'file']);
      expect(await bench.names(at('precious/deep'))).toEqual(['file']);
      expect(await bench.mountsBelow(at('precious'))).toEqual([at('precious/deep')]);
    });

    const sizes: [rule: string, emptyDir: Volume['emptyDir'], spec: Partial<PodSpec>, kibibytes: number][] = [
      ['what the node can give', {}, {}, 256 * 1024],
      ['its sizeLimit', { sizeLimit: '10Mi' }, {}, 10 * 1024],
      ['what the pod may use', { sizeLimit: '1Gi' }, limitedTo('64Mi'), 64 * 1024],
    ];
    it.each(sizes)('in memory has the size of %s', async (_rule, emptyDir, spec, kibibytes) => {
      const { bench } = contract;
      const path = await bench.setUp(inMemory(emptyDir, spec));
      const mount = await mountAt(bench.host, path);
      expect(mount?.fsType).toBe('tmpfs');
      expect(mount?.superOptions).toContain(`size=${kibibytes}k`);
      expect(mount?.superOptions).toContain('noswap');
      expect(await bench.mode(path)).toBe('1777');
    });

    it('in memory is mounted once, and gone after tear-down', async () => {
      const { bench } = contract;
      const path = await bench.setUp(inMemory());
      await bench.host.files.writeFile(`${path}/file`, 'x');
      await bench.setUp(inMemory());
      expect(await bench.mountsBelow()).toEqual([path]);
      expect(await bench.names(path)).toEqual(['file']);
      await bench.tearDown(inMemory());
      expect(await bench.mountsBelow()).toEqual([]);
      expect(await bench.exists(path)).toBe(false);
    });

    it('in memory is mounted again after the mount was lost', async () => {
      const { bench } = contract;
      const path = await bench.setUp(inMemory({}, inGroup));
      await bench.host.mounts.unmount(path);
      await bench.setUp(inMemory({}, inGroup));
      expect(await bench.owner(path)).toBe('3777 0:123');
    });

    it('in memory grows and shrinks while it is used, not below what it holds', async () => {
      const { bench } = contract;
      const pod = inMemory({ sizeLimit: '1Mi' });
      const path = await bench.setUp(pod);
      await bench.host.files.writeFile(`${path}/file`, 'x'.repeat(100_000));
      const shownSize = async () => (await mountAt(bench.host, path))?.superOptions;
      await bench.resize(pod, 4_194_304n);
      expect(await shownSize()).toEqual(expect.arrayContaining(['size=4096k', 'noswap']));
      await bench.resize(pod, 262_144n);
      expect(await shownSize()).toEqual(expect.arrayContaining(['size=256k', 'noswap']));
      await expect(bench.resize(pod, 65_536n)).rejects.toThrow(
        /^attempting to set its size \(65536\) below current usage \(\d+\)$/,
      );
      expect(await shownSize()).toContain('size=256k');
      expect(await bench.text(`${path}/file`)).toHaveLength(100_000);
      expect(await bench.mountsBelow()).toEqual([path]);
    });

    it('is not resized where it is not mounted, or not in memory', async () => {
      const { bench } = contract;
      const pod = inMemory({ sizeLimit: '1Mi' });
      await expect(bench.resize(pod, 1n)).rejects.toThrow(
        'volume cache is not yet mounted; deferring resize',
      );
      const path = await bench.setUp(pod);
      await bench.host.mounts.unmount(path);
      await expect(bench.resize(pod, 1n)).rejects.toThrow(
        'volume cache is not yet mounted; deferring resize',
      );
    });

    it('of an unknown medium is refused', async () => {
      const { bench } = contract;
      const unknown = podOf([{ name: 'cache', emptyDir: { medium: 'Tape' } }]);
      await expect(bench.setUp(unknown)).rejects.toThrow('unknown storage medium "Tape"');
      const resources = { requests: { 'hugepages-2Mi': '2Mi', 'hugepages-1Gi': '1Gi' } };
      const twoSizes = podOf([{ name: 'cache', emptyDir: { medium: 'HugePages' } }], {
        containers: [{ name: 'app', image: 'app:1', resources }],
      });
      await expect(bench.setUp(twoSizes)).rejects.toThrow(
        "medium: HugePages can't be used if container requests multiple huge page sizes",
      );
    });

    it('in huge pages is a hugetlbfs', async () => {
      const { bench } = contract;
      const resources = { requests: { 'hugepages-2Mi': '2Mi' } };
      const spec = { containers: [{ name: 'app', image: 'app:1', resources }] };
      const huge = podOf([{ name: 'cache', emptyDir: { medium: 'HugePages-2Mi' } }], spec);
      const path = await bench.setUp(huge);
      const mount = await mountAt(bench.host, path);
      expect(mount?.fsType).toBe('hugetlbfs');
      expect(mountedPageBytes(mount?.superOptions ?? [])).toBe(2n * 1024n * 1024n);
      await bench.setUp(huge);
      expect(await bench.mountsBelow()).toEqual([path]);
      await bench.tearDown(huge);
      expect(await bench.mountsBelow()).toEqual([]);
    });
  });

  describe('hostPath', () => {
    const on = (path: string, type?: string) =>
      podOf([{ name: 'host', hostPath: { path, ...(type === undefined ? {} : { type }) } }]);

    it('without a type is not looked at', async () => {
      const { bench, at } = contract;
      expect(await bench.setUp(on(at('missing')))).toBe(at('missing'));
      expect(await bench.exists(at('missing'))).toBe(false);
      await bench.host.files.mkdir(at('sticky'));
      await bench.host.files.chmod(at('sticky'), 0o1777);
      await bench.setUp(podOf([{ name: 'host', hostPath: { path: at('sticky') } }], inGroup));
      expect(await bench.owner(at('sticky'))).toBe('1777 0:0');
    });

    it('is created as asked', async () => {
      const { bench, at } = contract;
      await bench.setUp(on(at('a/b/c'), 'DirectoryOrCreate'));
      expect(await bench.mode(at('a/b/c'))).toBe('755');
      await bench.setUp(on(at('a/file'), 'FileOrCreate'));
      expect(await bench.mode(at('a/file'))).toBe('644');
      expect(await bench.text(at('a/file'))).toBe('');
      await expect(bench.setUp(on(at('none/file'), 'FileOrCreate'))).rejects.toThrow();
      await bench.tearDown(on(at('a/file'), 'FileOrCreate'));
      expect(await bench.exists(at('a/file'))).toBe(true);
    });

    it('is what its type says, through links', async () => {
      const { bench, at } = contract;
      await bench.host.files.writeFile(at('file'), 'x');
      await bench.host.files.symlink(at('file'), at('link'));
      await bench.setUp(on(at('link'), 'File'));
      await expect(bench.setUp(on(at('file'), 'Directory'))).rejects.toThrow(
        `hostPath type check failed: ${at('file')} is not a directory, it's a File`,
      );
      await expect(bench.setUp(on(at('missing'), 'Socket'))).rejects.toThrow(
        `hostPath type check failed, ${at('missing')} is not a socket file, unable to determine its type`,
      );
    });

    it('does not go up', async () => {
      await expect(contract.bench.setUp(on('/tmp/../etc'))).rejects.toThrow(
        "invalid HostPath `/tmp/../etc`: must not contain '..'",
      );
    });
  });
}
