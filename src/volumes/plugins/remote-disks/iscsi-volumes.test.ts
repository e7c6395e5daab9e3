/** iSCSI volumes on a simulated machine with a simulated target: what they leave, and that they leave nothing. */
import { describe, expect, it, vi } from 'vitest';
import { SimulatedMachine } from '../../../host/index.js';
import { VolumeFailure, type VolumeSpec } from '../../contracts.js';
import {
  device,
  expectGone,
  global,
  iqn,
  iscsi,
  kubelet,
  mounts,
  names,
  newSan,
  pod,
  podPath,
  remains,
  rootDir,
  type SanKubelet,
  session,
  setUp,
  signal,
  takeDown,
  uniqueName,
} from './test-kubelet.js';
import { TestSan } from './test-san.js';

describe('an iSCSI volume', () => {
  it('is logged in, formatted, mounted once, bound for the pod, and logged out', async () => {
    const on = kubelet(await newSan());
    await setUp(on, iscsi());
    expect(await mounts(on)).toEqual([global, podPath]);
    expect([...on.san.sessions]).toEqual([session]);
    expect(on.san.formatted).toEqual(new Set(['/dev/sdb']));
    expect((await on.host.files.stat(podPath)).gid).toBe(7);
    expect(on.san.records.get(session)?.get('node.startup')).toBe('manual');
    await on.host.files.writeFile(`${podPath}/file`, 'kept');
    await takeDown(on);
    await expectGone(on);
    expect([...on.san.records.keys()]).toEqual([]);
    expect(on.san.commands.filter(([program]) => program === 'mkfs.ext4')).toHaveLength(1);
  });

  it('has the file beside its mount that the reference kubelet logs out by', async () => {
    const on = kubelet(await newSan());
    await setUp(on, iscsi({ portals: ['10.0.0.2:3261', '10.0.0.1:3260'] }));
    await on.plugin.tearDown(remains);
    await on.host.mounts.unmount(global);
    const text = Buffer.from(await on.host.files.readFile(`${global}/iscsi.json`)).toString();
    expect(JSON.parse(text)).toEqual({
      VolName: 'pv',
      Portals: ['10.0.0.1:3260', '10.0.0.2:3261'],
      Iqn: iqn,
      Lun: '0',
      InitIface: 'default',
      Iface: 'default',
      InitiatorName: '',
    });
  });

  it('has the names of the reference', () => {
    const { plugin } = kubelet(new TestSan(new SimulatedMachine()));
    expect(plugin.devices?.uniqueName(iscsi())).toBe(uniqueName);
    expect(plugin.hostPath(iscsi(), 'u')).toBe(podPath);
    expect(plugin.attaching?.isNeeded(iscsi())).toBe(true);
  });

  it('is read-only and has its mount options', async () => {
    const on = kubelet(await newSan());
    on.san.formatted.add('/dev/sdb');
    await setUp(on, iscsi({}, true, 'pv', { mountOptions: ['noatime,nosuid'] }));
    const [first, second] = (await on.host.mounts.list()).filter(({ target }) => target.startsWith(rootDir));
    expect(first?.options).toEqual(expect.arrayContaining(['ro', 'noatime', 'nosuid']));
    expect(second?.options).toEqual(expect.arrayContaining(['ro', 'nosuid']));
    expect(on.plugin.traits(iscsi({}, true))).toEqual({ managed: false, readOnly: true, relabel: true });
  });

  it('shares a session: only the last one logs out', async () => {
    const on = kubelet(await newSan());
    await setUp(on, iscsi());
    await setUp(on, iscsi({ lun: 1 }, false, 'pv-2'), 'v');
    await takeDown(on);
    expect([...on.san.sessions]).toEqual([session]);
    expect(on.san.disks).toEqual(['sdc']);
    await on.plugin.tearDown({ podUid: 'v', innerName: 'pv-2' });
    const other = { uniqueName: `kubernetes.io/iscsi/10.0.0.1:${iqn}:1`, innerName: 'pv-2' };
    await on.plugin.devices?.unmountDevice(other);
    await expectGone(on);
  });

  it('leaves a session that the machine itself uses', async () => {
    const on = kubelet(await newSan());
    await setUp(on, iscsi());
    await on.host.files.mkdir('/srv');
    await on.host.mounts.mount({ source: '/dev/sdc', target: '/srv', fsType: 'ext4' });
    await takeDown(on);
    expect([...on.san.sessions]).toEqual([session]);
    expect(on.san.disks).toEqual(['sdc']);
  });

  it('stays as long as its device is mounted elsewhere', async () => {
    const on = kubelet(await newSan());
    await setUp(on, iscsi());
    await on.host.files.mkdir('/srv');
    await on.host.mounts.mount({ source: '/dev/sdb', target: '/srv', fsType: 'ext4' });
    await expect(takeDown(on)).rejects.toThrow('/dev/sdb is still in use');
    await on.host.mounts.unmount('/srv');
    await takeDown(on);
    await expectGone(on);
  });

  it('gives its session the words of its secret, which are in no note, file or error', async () => {
    const on = kubelet(await newSan());
    on.san.password = 's3cret-word';
    const chap = { chapAuthSession: true, chapAuthDiscovery: true, secretRef: { name: 'chap' } };
    await setUp(on, iscsi(chap));
    const withSecret = on.san.commands.filter((words) => words.some((word) => word.includes('s3cret')));
    expect(withSecret.map((words) => words.at(-1))).toEqual(['--value=s3cret-word', '--value=s3cret-word']);
    for (const directory of [`${rootDir}/plugins/kubernetes.io~iscsi/disks`, global]) {
      for (const name of await names(on, directory)) {
        const path = `${directory}/${name}`;
        expect(Buffer.from(await on.host.files.readFile(path)).toString(), path).not.toContain('s3cret');
      }
    }
    const other = kubelet(await newSan());
    other.san.password = 'other';
    const failure = await setUp(other, iscsi(chap)).catch((error: unknown) => error);
    expect(String(failure)).toContain('iscsiadm: the login ended with 24');
    expect(String(failure)).not.toContain('s3cret');
    expect([...other.san.records.keys()]).toEqual([]);
  });

  it('reads a secret from the namespace that the volume names', async () => {
    const on = kubelet(await newSan());
    on.san.password = 'from-vault';
    await setUp(on, iscsi({ chapAuthSession: true, secretRef: { name: 'chap', namespace: 'vault' } }));
    expect(await mounts(on)).toHaveLength(2);
  });

  it('waits for its secret without a trace', async () => {
    const on = kubelet(await newSan());
    const failure = await setUp(on, iscsi({ chapAuthSession: true, secretRef: { name: 'x' } })).catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ failureClass: 'transient' });
    expect(String(failure)).toContain('cannot read the secret shop/x');
    await expectGone(on);
  });

  it('uses the multipath device over its portals, and flushes it', async () => {
    const on = kubelet(await newSan());
    on.san.luns = [0];
    on.san.hasMultipath = true;
    await setUp(on, iscsi({ portals: ['10.0.0.2'] }));
    expect((await on.host.mounts.list()).find(({ target }) => target === global)?.source).toBe('/dev/dm-0');
    await takeDown(on);
    expect(on.san.commands).toContainEqual(['multipath', '-f', '/dev/dm-0']);
    await expectGone(on);
  });

  it('needs one of its portals only', async () => {
    const on = kubelet(await newSan());
    on.san.deadPortals.add('10.0.0.1:3260');
    await setUp(on, iscsi({ portals: ['10.0.0.2'] }));
    expect([...on.san.sessions]).toEqual([`10.0.0.2:3260 ${iqn} default`]);
    await takeDown(on);
    await expectGone(on);
  });

  it.each<[string, (san: TestSan) => unknown, string]>([
    [
      'no portal responds',
      (san) => san.deadPortals.add('10.0.0.1:3260'),
      'the discovery of targets ended with 4',
    ],
    ['the target has no such disk', (san) => san.luns.splice(0), 'has no device after 10s'],
    ['there is no iscsiadm', (san) => san.uninstall(), 'cannot run iscsiadm'],
  ])('is uncertain while %s, and leaves nothing', async (_, breakIt, text) => {
    const on = kubelet(await newSan());
    breakIt(on.san);
    const failure = await setUp(on, iscsi()).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(VolumeFailure);
    expect(failure).toMatchObject({ failureClass: 'uncertain' });
    expect(String(failure)).toContain(text);
    expect((await on.plugin.devices?.remains?.())?.devices).toMatchObject([device]);
    await takeDown(on);
    await expectGone(on);
  });

  it('has an interface of its own with the name of its initiator', async () => {
    const on = kubelet(await newSan());
    const name = 'iqn.2001-04.com.example:me';
    await setUp(on, iscsi({ initiatorName: name }));
    expect(on.san.interfaces.get('10.0.0.1:3260:pv')).toEqual(
      new Map([
        ['iface.transport_name', 'tcp'],
        ['iface.initiatorname', name],
      ]),
    );
    await takeDown(on);
    expect([...on.san.interfaces.keys()]).toEqual(['default']);
    await expectGone(on);
  });

  it('is known after a restart', async () => {
    const san = await newSan();
    await setUp(kubelet(san), iscsi());
    const { plugin } = kubelet(san);
    expect(await plugin.identify?.(remains)).toEqual({ uniqueName });
    expect(await plugin.devices?.remains?.()).toMatchObject({ devices: [device], unknown: [] });
    expect(await plugin.block?.remains?.()).toEqual({ devices: [], unknown: [] });
  });

  it('whose note is unreadable stays for the administrator', async () => {
    const san = await newSan();
    const on = kubelet(san);
    await setUp(on, iscsi());
    const directory = `${rootDir}/plugins/kubernetes.io~iscsi/disks`;
    const [name = ''] = await names(on, directory);
    for (const text of [
      '{',
      '{}',
      '[]',
      'null',
      JSON.stringify({ uniqueName, innerName: '../x', mode: 'Block' }),
    ]) {
      await on.host.files.writeFile(`${directory}/${name}`, text);
      expect(await on.plugin.devices?.remains?.(), text).toMatchObject({ devices: [], unknown: [{}] });
      await expect(on.plugin.devices?.unmountDevice(device), text).rejects.toThrow('is no note of a disk');
    }
    expect([...san.sessions]).toEqual([session]);
  });

  it('is not two kinds of volume at once', async () => {
    const on = kubelet(await newSan());
    await setUp(on, iscsi());
    const block = iscsi({}, false, 'pv-b', { volumeMode: 'Block' });
    await expect(on.plugin.block?.prepare(block)).rejects.toThrow('already here with volumeMode Filesystem');
  });
});

describe('an iSCSI volume of mode Block', () => {
  const block = iscsi({}, false, 'pv', { volumeMode: 'Block' });

  it('is a device until it is logged out', async () => {
    const san = await newSan();
    const on = kubelet(san);
    await on.plugin.block?.prepare(block);
    await on.plugin.devices?.attach?.(block, pod(), signal);
    await on.plugin.block?.setUpDevice(block, signal);
    expect(await on.plugin.block?.mapPodDevice({ pod: pod(), spec: block, isRemount: false, signal })).toBe(
      '/dev/sdb',
    );
    expect(on.san.formatted.size).toBe(0);
    const next = kubelet(san);
    expect(await next.plugin.block?.identify?.(remains)).toEqual({ uniqueName });
    expect(await next.plugin.block?.remains?.()).toMatchObject({ devices: [device], unknown: [] });
    await next.plugin.block?.tearDownDevice(device);
    await next.plugin.block?.tearDownDevice(device);
    await expectGone(next);
  });
});

describe('a disk that has grown', () => {
  const request = (spec: VolumeSpec) => ({ spec, podUid: 'u', sizeBytes: 1n, signal });
  const rescanned = async (on: SanKubelet): Promise<string[]> => {
    const found: string[] = [];
    for (const name of on.san.disks) {
      const text = Buffer.from(await on.host.files.readFile(`/sys/block/${name}/device/rescan`)).toString();
      if (text === '1\n') found.push(name);
    }
    return found;
  };

  it('is read again, and its file system enlarged', async () => {
    const on = kubelet(await newSan());
    await setUp(on, iscsi());
    expect(await on.plugin.expand?.(request(iscsi()))).toEqual({ kind: 'expanded' });
    expect(on.san.commands.at(-1)).toEqual(['resize2fs', '/dev/sdb']);
    expect(await rescanned(on)).toEqual(['sdb']);
  });

  it('by several paths has its multipath device follow', async () => {
    const san = await newSan();
    san.hasMultipath = true;
    const on = kubelet(san);
    const spec = iscsi({ portals: ['10.0.0.2'] });
    await setUp(on, spec);
    expect(await on.plugin.expand?.(request(spec))).toEqual({ kind: 'expanded' });
    expect(san.commands.slice(-2)).toEqual([
      ['multipathd', 'resize', 'map', 'dm-0'],
      ['resize2fs', '/dev/dm-0'],
    ]);
    expect(await rescanned(on)).toHaveLength(2);
  });
});

describe('a disk with an SELinux label', () => {
  const label = 'system_u:object_r:container_file_t:s0:c1,c2';

  it('is mounted with it, and both notes have it for the next run', async () => {
    const on = kubelet(await newSan());
    const mounting = vi.spyOn(on.host.mounts, 'mount');
    const spec = iscsi();
    await on.plugin.devices?.attach?.(spec, pod(), signal);
    await on.plugin.devices?.mountDevice(spec, signal, { seLinuxLabel: label });
    await on.plugin.setUp({ pod: pod(), spec, isRemount: false, seLinuxLabel: label, signal });
    expect(mounting.mock.calls.map(([{ target, options }]) => [target, ...(options ?? [])])).toEqual([
      [global, `context="${label}"`],
      [podPath, 'bind'],
    ]);
    const next = kubelet(on.san);
    expect(await next.plugin.identify?.(remains)).toEqual({ uniqueName, seLinuxLabel: label });
    expect((await next.plugin.devices?.remains?.())?.devices).toMatchObject([
      { uniqueName, seLinuxLabel: label },
    ]);
    await takeDown(next);
    await expectGone(next);
  });

  it('is possible for each of them', () =>
    expect(kubelet(new TestSan(new SimulatedMachine())).plugin.supportsSELinuxMount?.(iscsi())).toBe(true));
});
