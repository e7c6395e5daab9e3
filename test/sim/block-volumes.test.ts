/** Block volumes of local disks on a simulated machine: what pods get, what is on disk, and that nothing is left of them. */
import { afterEach, describe, expect, it } from 'vitest';
import { isMountPoint, SimulatedMachine, simulatedHost } from '../../src/host/index.js';
import type { Pod } from '../../src/kube/index.js';
import { Machine } from './machine.js';
import { endNodes, second } from './node.js';
import { apiPod } from './pods.js';
import {
  Outside,
  objectsOf,
  rootDir,
  startVolumeNode,
  type VolumeNode,
  type VolumeNodeOptions,
} from './volume-node.js';

afterEach(endNodes);

const mapDirectory = `${rootDir}/plugins/kubernetes.io~local-volume/volumeDevices/pv-1`;
const links = (name: string): string =>
  `${rootDir}/pods/uid-of-${name}/volumeDevices/kubernetes.io~local-volume`;
const linkOf = (name: string): string => `${links(name)}/pv-1`;

const blockPod = (name: string, readOnly = false): Pod =>
  apiPod(name, {
    containers: [{ name: 'app', image: 'app:1', volumeDevices: [{ name: 'd', devicePath: '/dev/x' }] }],
    spec: { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'data', readOnly } }] },
  });

const objects = (spec: object) => ({
  persistentVolumes: [
    {
      metadata: { name: 'pv-1' },
      spec: {
        volumeMode: 'Block',
        accessModes: ['ReadWriteOnce'],
        claimRef: { namespace: 'default', name: 'data', uid: 'c1' },
        ...spec,
      },
    },
  ],
  persistentVolumeClaims: [
    {
      metadata: { name: 'data', namespace: 'default', uid: 'c1' },
      spec: { volumeMode: 'Block', volumeName: 'pv-1' },
      status: { phase: 'Bound' },
    },
  ],
});

async function newMachine(): Promise<SimulatedMachine> {
  const files = new SimulatedMachine();
  const outside = new Outside(files);
  for (const dir of ['/dev', '/disks', '/mnt/directory']) await outside.makeDirectory(dir);
  for (const disk of ['/dev/sdb', '/dev/sdc']) files.makeSpecialFile(disk, 'block-device');
  await simulatedHost({ machine: files }).files.symlink('/dev/sdb', '/disks/one');
  await outside.write('/mnt/file', 'content');
  return files;
}

async function begin(spec: object, options: VolumeNodeOptions = {}): Promise<VolumeNode> {
  const machine = options.machine ?? new Machine();
  const store = options.objects ?? objectsOf(machine);
  store.set('test', objects(spec));
  return startVolumeNode({ files: await newMachine(), ...options, machine, objects: store });
}

async function end({ node }: VolumeNode, name: string): Promise<void> {
  node.delete(name, 1);
  await node.untilStopped(name);
  node.drop(name);
  await node.advance(15 * second);
}

const loops = ({ host }: VolumeNode): string[] => loopsOf(host.machine);
const loopsOf = (files: SimulatedMachine): string[] =>
  [...files.loops.values()].map((position) => files.pathOf(position));

async function expectNothingLeft(files: SimulatedMachine): Promise<void> {
  const outside = new Outside(files);
  expect(loopsOf(files)).toEqual([]);
  expect(
    files.mounts.map((mount) => files.describe(mount).target).filter((at) => at.includes('pv-1')),
  ).toEqual([]);
  expect(await outside.pods()).toEqual([]);
  expect(await outside.names(`${rootDir}/plugins/kubernetes.io~local-volume/volumeDevices`)).toEqual([]);
  expect(files.heldPaths).toBe(0);
}

const failures = ({ node }: VolumeNode, name: string, reason: string): string[] =>
  node.events(name, reason).map(({ message }) => message);

async function refusal(on: VolumeNode, pod: Pod, reason = 'FailedMapVolume'): Promise<string> {
  const { name } = pod.metadata;
  on.node.put(pod);
  await on.node.until('it is refused', () => failures(on, name, reason).length > 0);
  expect(on.node.waitingReason(name)).toBe('ContainerCreating');
  return failures(on, name, reason)[0] ?? '';
}

describe('a local disk', () => {
  it.each([
    ['writable', false, 'mrw'],
    ['read-only', true, 'r'],
  ])(
    'is a %s device of the container, linked, bound and pinned until the pod ends',
    async (_, readOnly, permissions) => {
      const on = await begin({ local: { path: '/disks/one' } });
      const { files } = simulatedHost({ machine: on.host.machine });
      on.node.set([blockPod('web', readOnly)]);
      await on.node.untilReady('web');
      expect(on.devices.get('web/app')).toEqual([
        { containerPath: '/dev/x', hostPath: linkOf('web'), permissions },
      ]);
      expect(await files.readlink(linkOf('web'))).toBe('/dev/sdb');
      expect((await files.lstat(`${mapDirectory}/uid-of-web`)).kind).toBe('block-device');
      expect(loops(on)).toEqual([`${mapDirectory}/uid-of-web`]);
      expect(failures(on, 'web', 'SuccessfulMountVolume')).toEqual([
        `MapVolume.MapPodDevice succeeded for volume "pv-1" globalMapPath "${mapDirectory}"`,
        `MapVolume.MapPodDevice succeeded for volume "pv-1" volumeMapPath "${links('web')}"`,
      ]);
      await end(on, 'web');
      await expectNothingLeft(on.host.machine);
      expect((await files.stat('/dev/sdb')).kind).toBe('block-device');
    },
  );

  it('is bound for each of two pods, and released with the last', async () => {
    const on = await begin({ local: { path: '/dev/sdb' } });
    on.node.set([blockPod('one'), blockPod('two')]);
    await on.node.untilReady('one');
    await on.node.untilReady('two');
    expect(loops(on).sort()).toEqual([`${mapDirectory}/uid-of-one`, `${mapDirectory}/uid-of-two`]);
    await end(on, 'one');
    expect(loops(on)).toEqual([`${mapDirectory}/uid-of-two`]);
    await end(on, 'two');
    await expectNothingLeft(on.host.machine);
  });

  it.each([
    [
      'a directory',
      { local: { path: '/mnt/directory' } },
      'MapVolume.MapBlockVolume failed for volume "pv-1" : /mnt/directory is a directory and no block device; the volume has volumeMode Block',
    ],
    [
      'a regular file',
      { local: { path: '/mnt/file' } },
      'MapVolume.MapBlockVolume failed for volume "pv-1" : /mnt/file is a regular file and no block device; the volume has volumeMode Block',
    ],
    ['a path with ..', { local: { path: '/dev/../dev/sdb' } }, "must not contain '..'"],
    [
      'a missing path',
      { local: { path: '/dev/none' } },
      'MapVolume.MapPodDevice failed for volume "pv-1" : ENOENT',
    ],
    [
      'a kind that is no disk',
      { hostPath: { path: '/dev/sdb' } },
      'MapVolume.FindMapperPluginBySpec failed for volume "pv-1" : volumes of kubernetes.io/host-path cannot be block devices; use one with volumeMode Filesystem',
    ],
  ])('is refused if it is %s, and nothing is left', async (_, spec, text) => {
    const on = await begin(spec);
    expect(await refusal(on, blockPod('web'))).toContain(text);
    await end(on, 'web');
    await expectNothingLeft(on.host.machine);
  });

  it('that may not be used on this node is refused with FailedMount', async () => {
    const required = {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }],
    };
    const on = await begin({ local: { path: '/dev/sdb' }, nodeAffinity: { required } });
    expect(await refusal(on, blockPod('web'), 'FailedMount')).toMatch(
      /^MapVolume\.NodeAffinity check failed for volume "pv-1" : .*no matching NodeSelectorTerms/,
    );
  });

  it('for one pod is refused to a second one', async () => {
    const on = await begin({ local: { path: '/dev/sdb' }, accessModes: ['ReadWriteOncePod'] });
    on.node.set([blockPod('one')]);
    await on.node.untilReady('one');
    expect(await refusal(on, blockPod('two'))).toBe(
      'MapVolume.SetUpDevice failed for volume "pv-1" : volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    );
  });

  it('is mapped when losetup works again, and cleaned up if it never does', async () => {
    const on = await begin({ local: { path: '/dev/sdb' } });
    on.host.inject({
      at: ({ operation }) => operation === 'losetup',
      when: 'before',
      effect: { kind: 'fail', code: 'ENOENT' },
    });
    expect(await refusal(on, blockPod('web'))).toMatch(
      /^MapVolume\.MapBlockVolume failed for volume "pv-1" : /,
    );
    expect(await isMountPoint(on.host, `${mapDirectory}/uid-of-web`)).toBe(true);
    await end(on, 'web');
    await expectNothingLeft(on.host.machine);
  });

  it('is not taken for another one that someone put in its place', async () => {
    const on = await begin({ local: { path: '/disks/one' } });
    on.node.set([blockPod('web')]);
    await on.node.untilReady('web');
    const { files } = simulatedHost({ machine: on.host.machine });
    await files.unlink(linkOf('web'));
    await files.symlink('/dev/sdc', linkOf('web'));
    const [app] = on.node.machine.running('web');
    on.node.machine.exitContainer(app!.id, 1);
    await on.node.until('it is refused', () =>
      failures(on, 'web', 'Failed').some((text) =>
        text.includes('does not lead to the device that was mapped for the pod'),
      ),
    );
  });

  it('survives a restart of the kubelet, and is found by the link alone', async () => {
    const machine = new Machine();
    const first = await begin({ local: { path: '/dev/sdb' } }, { machine });
    first.node.set([blockPod('web')]);
    await first.node.untilReady('web');
    await first.crash();
    const files = first.host.machine;
    const second_ = await startVolumeNode({ machine, files, objects: first.objects });
    second_.node.set([blockPod('web')]);
    await second_.node.untilReady('web');
    await second_.node.advance(15 * second);
    expect(loopsOf(files)).toEqual([`${mapDirectory}/uid-of-web`]);
    await second_.crash();
    const third = await startVolumeNode({ machine, files, objects: first.objects });
    third.node.set([]);
    await third.node.advance(30 * second);
    await expectNothingLeft(files);
  });

  it('is mapped again after a reboot', async () => {
    const machine = new Machine();
    const first = await begin({ local: { path: '/dev/sdb' } }, { machine });
    first.node.set([blockPod('web')]);
    await first.node.untilReady('web');
    await first.crash();
    const files = first.host.machine;
    files.settle();
    files.reboot();
    const next = await startVolumeNode({ machine, files, objects: first.objects });
    next.node.set([blockPod('web')]);
    await next.node.until('it is pinned again', () => loopsOf(files).length === 1);
    await end(next, 'web');
    await expectNothingLeft(files);
  });
});

describe('a kubelet that dies at any change', { timeout: 120_000 }, () => {
  const story = async (on: VolumeNode): Promise<void> => {
    on.node.set([blockPod('web')]);
    await on.node.advance(10 * second);
    if (on.host.dead) return;
    on.node.delete('web', 1);
    await on.node.advance(10 * second);
  };

  it('leaves no loop device, bind or link when the pod is gone', async () => {
    const whole = await begin({ local: { path: '/dev/sdb' } });
    const before = whole.host.calls.length;
    await story(whole);
    const changes = whole.host.calls.length - before;
    await endNodes();
    expect(changes).toBeGreaterThan(10);
    for (let change = 1; change <= changes; change++) {
      for (const when of ['before', 'after'] as const) {
        const machine = new Machine();
        const first = await begin({ local: { path: '/dev/sdb' } }, { machine, death: { change, when } });
        await story(first);
        expect(first.host.dead, `died ${when} change ${change}`).toBe(true);
        await first.crash();
        const files = first.host.machine;
        const next = await startVolumeNode({ machine, files, objects: first.objects });
        next.node.set([]);
        await next.node.advance(30 * second);
        await expectNothingLeft(files);
        await endNodes();
      }
    }
  });
});
