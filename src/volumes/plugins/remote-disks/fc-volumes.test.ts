/** Fibre Channel volumes on a simulated machine. */
import { describe, expect, it } from 'vitest';
import { SimulatedMachine } from '../../../host/index.js';
import { fcVolumes } from './index.js';
import {
  kubelet,
  mounts,
  names,
  newSan,
  persistent,
  remains,
  rootDir,
  type SanKubelet,
  setUp,
} from './test-kubelet.js';
import { TestSan } from './test-san.js';

describe('a Fibre Channel volume', () => {
  const wwn = '500a0981891b8dc5';
  const fc = persistent({ fc: { targetWWNs: [wwn], lun: 0 } });
  const fcDevice = { uniqueName: `kubernetes.io/fc/[${wwn}]:0`, innerName: 'pv' };
  const fcGlobal = `${rootDir}/plugins/kubernetes.io/fc/${wwn}-lun-0`;

  async function withAdapters(): Promise<SanKubelet> {
    const on = kubelet(await newSan(), fcVolumes);
    const { files } = on.host;
    for (const adapter of ['host1', 'host2']) {
      await files.mkdir(`/sys/class/fc_host/${adapter}`, { recursive: true });
      await files.mkdir(`/sys/class/scsi_host/${adapter}`, { recursive: true });
      await files.writeFile(`/sys/class/scsi_host/${adapter}/scan`, '');
    }
    return on;
  }
  const onScan = (on: SanKubelet, action: () => Promise<unknown>): void =>
    on.host.inject({
      at: ({ operation, path }) => operation === 'writeFile' && path.endsWith('host2/scan'),
      when: 'after',
      effect: { kind: 'run', action: async () => void (await action()) },
    });

  it('is found by a scan of the adapters, mounted, and removed', async () => {
    const on = await withAdapters();
    onScan(on, () => on.san.add(`/dev/disk/by-path/pci-0000:05:00.0-fc-0x${wwn}-lun-0`));
    expect(on.plugin.devices?.uniqueName(fc)).toBe(fcDevice.uniqueName);
    await setUp(on, fc);
    for (const adapter of ['host1', 'host2']) {
      const text = await on.host.files.readFile(`/sys/class/scsi_host/${adapter}/scan`);
      expect(Buffer.from(text).toString()).toBe('- - -\n');
    }
    expect(await mounts(on)).toEqual([fcGlobal, `${rootDir}/pods/u/volumes/kubernetes.io~fc/pv`]);
    expect(on.san.commands.map(([program]) => program)).not.toContain('iscsiadm');
    await on.plugin.tearDown(remains);
    await on.plugin.devices?.unmountDevice(fcDevice);
    await on.san.settle();
    expect(on.san.disks).toEqual([]);
    expect(await mounts(on)).toEqual([]);
    expect(await names(on, `${rootDir}/plugins/kubernetes.io~fc/disks`)).toEqual([]);
    expect(await names(on, `${rootDir}/plugins/kubernetes.io/fc`)).toEqual([]);
  });

  it('is found by its own id', async () => {
    const on = await withAdapters();
    await on.san.add('/dev/disk/by-id/scsi-3600508b400105e210000900000490000');
    const spec = persistent({ fc: { wwids: ['3600508b400105e210000900000490000'] } });
    await setUp(on, spec);
    expect(await mounts(on)).toEqual([
      `${rootDir}/plugins/kubernetes.io/fc/3600508b400105e210000900000490000`,
      `${rootDir}/pods/u/volumes/kubernetes.io~fc/pv`,
    ]);
  });

  it('of a machine without adapters, or that nobody has, is refused', async () => {
    const none = kubelet(await newSan(), fcVolumes);
    await expect(setUp(none, fc)).rejects.toThrow('no Fibre Channel adapter');
    await expect(setUp(await withAdapters(), fc)).rejects.toThrow('has no device after 10s');
  });

  it.each<[string, object, string]>([
    ['neither targets nor ids', {}, 'either targetWWNs or wwids'],
    ['both', { targetWWNs: [wwn], lun: 0, wwids: ['x'] }, 'either targetWWNs or wwids'],
    ['no number', { targetWWNs: [wwn] }, 'fc.lun'],
    ['a large number', { targetWWNs: [wwn], lun: 256 }, 'fc.lun'],
    ['a target that is a path', { targetWWNs: ['../../../etc/x'], lun: 0 }, 'fc.targetWWNs[0]'],
    ['an id that is a path', { wwids: ['../sda'] }, 'fc.wwids[0]'],
    ['an id that is no text', { wwids: [7] }, 'fc.wwids[0]'],
    ['too many targets', { targetWWNs: Array(15).fill(wwn), lun: 0 }, 'more than 14'],
    ['a file system with a path', { targetWWNs: [wwn], lun: 0, fsType: 'a/b' }, 'fc.fsType'],
  ])('with %s waits', (_, fields, text) => {
    const { plugin } = kubelet(new TestSan(new SimulatedMachine()), fcVolumes);
    expect(plugin.problem?.(persistent({ fc: fields }))).toContain(text);
  });
});
