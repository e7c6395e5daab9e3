/** Volumes behind persistent volumes, and those that this node does not have. */
import { describe, expect, it } from 'vitest';
import { mountAt } from '../../src/host/index.js';
import type { PersistentVolumeSpec, Pod, PodSpec } from '../../src/kube/index.js';
import type { VolumeSpec } from '../../src/volumes/contracts.js';
import { podOf, VolumeBench, type VolumeContract } from './volume-contract.js';

const claiming = (spec: Partial<PodSpec> = {}, uid = 'pod-uid'): Pod =>
  podOf([{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }], spec, uid);
const persistent = (spec: PersistentVolumeSpec, readOnly = false): VolumeSpec => ({
  kind: 'persistent',
  volume: { name: 'data', persistentVolumeClaim: { claimName: 'c' } },
  persistentVolume: { metadata: { name: 'pv-1' }, spec },
  readOnly,
});

export function describeMountedVolumes(contract: VolumeContract): void {
  describe('local', () => {
    const inGroup = (fsGroup: number, fsGroupChangePolicy?: string): Partial<PodSpec> => ({
      securityContext: { fsGroup, ...(fsGroupChangePolicy === undefined ? {} : { fsGroupChangePolicy }) },
    });
    async function local(readOnly = false, more: PersistentVolumeSpec = {}): Promise<VolumeSpec> {
      const { bench, at } = contract;
      await bench.host.files.mkdir(at('disk'));
      await bench.host.files.writeFile(`${at('disk')}/file`, 'x', { mode: 0o600 });
      return persistent({ local: { path: at('disk') }, ...more }, readOnly);
    }

    it('is bound to the directory of the persistent volume', async () => {
      const { bench, at } = contract;
      const spec = await local();
      const path = await bench.setUp(claiming(), spec);
      expect(path).toBe(`${bench.rootDir}/pods/pod-uid/volumes/kubernetes.io~local-volume/pv-1`);
      await bench.setUp(claiming(), spec);
      expect(await bench.mountsBelow()).toEqual([path]);
      expect(await bench.names(path)).toEqual(['file']);
      await bench.tearDown(claiming(), spec);
      await bench.plugin(spec).devices?.unmountDevice({
        uniqueName: 'kubernetes.io/local-volume/pv-1',
        innerName: 'pv-1',
      });
      expect(await bench.mountsBelow()).toEqual([]);
      expect(await bench.exists(path)).toBe(false);
      expect(await bench.names(at('disk'))).toEqual(['file']);
      await bench.tearDown(claiming(), spec);
    });

    it('is read-only as its claim is, also when that step was cut off', async () => {
      const { bench } = contract;
      const spec = await local(true, { mountOptions: ['noexec'] });
      const path = await bench.setUp(claiming(inGroup(5)), spec);
      expect((await mountAt(bench.host, path))?.options).toEqual(expect.arrayContaining(['ro', 'noexec']));
      expect((await bench.host.files.stat(`${path}/file`)).gid).toBe(0);
      await bench.host.mounts.mount({ target: path, options: ['bind', 'remount', 'rw'] });
      await bench.setUp(claiming(inGroup(5)), spec);
      expect((await mountAt(bench.host, path))?.options).toEqual(expect.arrayContaining(['ro', 'noexec']));
      expect(await bench.mountsBelow()).toEqual([path]);
    });

    it('is known to be shared also where the root directory is a link', async () => {
      const { bench, at } = contract;
      const spec = await local();
      await bench.host.files.symlink(bench.rootDir, at('link'));
      const linked = new VolumeBench(bench.host, at('link'));
      await linked.setUp(claiming(inGroup(5)), spec);
      const second = await linked.setUp(claiming(inGroup(6), 'other-uid'), spec);
      expect((await linked.host.files.stat(second)).gid).toBe(5);
      expect(linked.warnings).toHaveLength(1);
    });

    it('belongs to the group of the first pod, and warns one with another group', async () => {
      const { bench } = contract;
      const spec = await local();
      const path = await bench.setUp(claiming(inGroup(5)), spec);
      expect(await bench.owner(`${path}/file`)).toBe('660 0:5');
      expect(await bench.owner(path)).toBe('2775 0:5');
      const second = await bench.setUp(claiming(inGroup(6), 'other-uid'), spec);
      expect(await bench.owner(second)).toBe('2775 0:5');
      expect(bench.warnings).toEqual([
        'AlreadyMountedVolume The requested fsGroup is 6, but the volume pv-1 has GID 5. The volume may not be shareable.',
      ]);
    });

    it('is walked only when its root differs, where the pod wants that', async () => {
      const { bench, at } = contract;
      const spec = await local();
      await bench.host.files.lchown(at('disk'), -1, 5);
      await bench.host.files.chmod(at('disk'), 0o2770);
      const path = await bench.setUp(claiming(inGroup(5, 'OnRootMismatch')), spec);
      expect(await bench.owner(`${path}/file`)).toBe('600 0:0');
      await bench.tearDown(claiming(), spec);
      await bench.host.files.chmod(at('disk'), 0o2750);
      await bench.setUp(claiming(inGroup(5, 'OnRootMismatch')), spec);
      expect(await bench.owner(`${path}/file`)).toBe('660 0:5');
    });

    it('is a directory or a disk', async () => {
      const { bench, at } = contract;
      const spec = await local();
      const file = persistent({ local: { path: `${at('disk')}/file` } });
      await expect(bench.setUp(claiming(), file)).rejects.toThrow(
        'only directory and block device are supported',
      );
      const up = persistent({ local: { path: `${at('disk')}/../disk` } });
      await expect(bench.setUp(claiming(), up)).rejects.toThrow('invalid path: ');
      expect(await bench.mountsBelow()).toEqual([]);
      expect(bench.plugin(spec).devices?.uniqueName(spec)).toBe('kubernetes.io/local-volume/pv-1');
    });
  });

  describe('hostPath of a persistent volume', () => {
    it('is that of the machine, read-only as its claim is', async () => {
      const { bench, at } = contract;
      const spec = persistent({ hostPath: { path: at('data'), type: 'DirectoryOrCreate' } }, true);
      expect(await bench.setUp(claiming(), spec)).toBe(at('data'));
      expect(bench.plugin(spec).traits(spec)).toEqual({ managed: false, readOnly: true, relabel: false });
    });
  });

  describe('others', () => {
    it('an image is the business of the runtime', async () => {
      const { bench } = contract;
      expect(await bench.setUp(podOf([{ name: 'i', image: { reference: 'data:1' } }]))).toBe('');
    });

    it('are refused by name and kind', async () => {
      const { bench } = contract;
      await expect(bench.setUp(podOf([{ name: 'g', gitRepo: { repository: 'r' } }]))).rejects.toThrow(
        'git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`',
      );
      await expect(bench.setUp(podOf([{ name: 'c', csi: { driver: 'd' } }]))).rejects.toThrow(
        'volume "c" is of kind csi, which this node does not support',
      );
      const spec = persistent({ csi: { driver: 'd', volumeHandle: 'h' } });
      await expect(bench.setUp(claiming(), spec)).rejects.toThrow(
        'volume "data" leads to persistent volume "pv-1" of kind csi, which this node does not support',
      );
    });
  });
}
