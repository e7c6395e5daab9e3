/** Single cases of CSI volumes on a whole kubelet: who is asked what, and what is left. */
import { afterEach, describe, expect, it } from 'vitest';
import { simulatedHost } from '../../src/host/index.js';
import type { Pod } from '../../src/kube/index.js';
import type { NodePublishVolumeRequest } from '../../src/volumes/csi/gen/csi.js';
import { CsiWorld, claimPod } from './csi-world.js';
import { endNodes, second } from './node.js';
import { apiPod } from './pods.js';
import { rootDir } from './volume-node.js';

afterEach(endNodes);

async function worldOf(spec: Parameters<CsiWorld['volume']>[1] = {}): Promise<CsiWorld> {
  const world = new CsiWorld();
  world.volume('disk', spec);
  await world.driver.start();
  return world;
}
const disk = (fsType: string) => ({
  driver: 'sim.csi.example.com',
  volumeHandle: 'vol-disk',
  fsType,
});
const published = `${rootDir}/pods/uid-of-web/volumes/kubernetes.io~csi/pv-disk`;
const failed = { when: 'before', effect: { kind: 'error', code: 'Internal' } } as const;

it('a driver that goes between stage and publish is not asked to stage again', async () => {
  const world = await worldOf();
  const effect = { kind: 'killed', downMs: 30 * second } as const;
  world.driver.fail({ method: 'nodePublishVolume', when: 'before', effect });
  const kubelet = await world.start();
  kubelet.node.set([claimPod('web', 'disk')]);
  await kubelet.node.untilReady('web');
  expect(world.driver.log()).toEqual([
    'nodeStageVolume',
    'nodePublishVolume Unavailable',
    'nodePublishVolume',
  ]);
  await kubelet.end('web');
  await kubelet.untilNothingIsLeft();
});

it('ReadWriteOncePod beside another mode is not enforced', async () => {
  const world = await worldOf({ accessModes: ['ReadWriteOnce', 'ReadWriteOncePod'] });
  const kubelet = await world.start();
  kubelet.node.set([claimPod('a', 'disk'), claimPod('b', 'disk')]);
  for (const name of ['a', 'b']) await kubelet.node.untilReady(name);
});

it('ReadWriteOncePod is refused to the second pod, which starts when the first is gone', async () => {
  const world = await worldOf({ accessModes: ['ReadWriteOncePod'] });
  const kubelet = await world.start();
  kubelet.node.set([claimPod('a', 'disk')]);
  await kubelet.node.untilReady('a');
  kubelet.node.put(claimPod('b', 'disk'));
  await kubelet.node.advance(10 * second);
  expect(kubelet.node.events('b', 'FailedMount')[0]?.message).toContain(
    'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
  );
  await kubelet.end('a');
  await kubelet.node.untilReady('b');
  await kubelet.end('b');
  await kubelet.untilNothingIsLeft();
});

it('a volume of another node is refused without a call', async () => {
  const world = await worldOf({
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['elsewhere'] }] }],
      },
    },
  });
  const kubelet = await world.start();
  kubelet.node.set([claimPod('web', 'disk')]);
  await kubelet.node.advance(10 * second);
  expect(kubelet.node.events('web', 'FailedMount')[0]?.message).toContain(
    'MountVolume.NodeAffinity check failed for volume "pv-disk" : no matching NodeSelectorTerms',
  );
  expect(world.driver.log()).toEqual([]);
});

it('two volumes of one pod that name one claim are published once', async () => {
  const world = await worldOf();
  const pod: Pod = apiPod('web', {
    containers: [
      {
        name: 'app',
        image: 'app:1',
        volumeMounts: [
          { name: 'one', mountPath: '/one' },
          { name: 'two', mountPath: '/two' },
        ],
      },
    ],
    graceSeconds: 1,
    spec: { volumes: ['one', 'two'].map((name) => ({ name, persistentVolumeClaim: { claimName: 'disk' } })) },
  });
  const kubelet = await world.start();
  kubelet.node.set([pod]);
  await kubelet.node.untilReady('web');
  expect(world.driver.log()).toEqual(['nodeStageVolume', 'nodePublishVolume']);
  expect(kubelet.on.told.get('web/app')?.map(({ hostPath }) => hostPath)).toEqual([
    `${published}/mount`,
    `${published}/mount`,
  ]);
  await kubelet.end('web');
  await kubelet.untilNothingIsLeft();
});

describe('when a pod ends', () => {
  it('and its driver fails to unpublish, there is no event, pauses grow, and its directory stays until then', async () => {
    const world = await worldOf();
    const kubelet = await world.start();
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.node.untilReady('web');
    world.driver.fail({ method: 'nodeUnpublishVolume', ...failed, times: 4 });
    await kubelet.end('web');
    await kubelet.node.advance(second);
    expect(await world.outside.pods()).toEqual(['uid-of-web']);
    await kubelet.untilNothingIsLeft();
    expect(kubelet.node.events('web').filter(({ event }) => event?.type === 'Warning')).toEqual([]);
    const times = world.driver.calls
      .filter(({ method }) => method === 'nodeUnpublishVolume')
      .map(({ atMs }) => atMs);
    const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(pauses).toEqual([500, 1000, 2000, 4000]);
  });

  it('and somebody deleted its metadata, the mount stays for the administrator', async () => {
    const world = await worldOf();
    const kubelet = await world.start();
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.node.untilReady('web');
    await world.outside.remove(`${published}/vol_data.json`);
    await kubelet.end('web');
    await kubelet.node.advance(60 * second);
    expect(world.driver.log()).toEqual(['nodeStageVolume', 'nodePublishVolume']);
    expect(await world.outside.mounts()).toEqual([`${published}/mount`]);
    expect(await world.outside.pods()).toEqual(['uid-of-web']);
    expect(kubelet.node.recorded('volume.unmount')[0]?.error).toContain('has a mount but no volume data');
  });

  it('and its driver cannot stage any more, the directory goes without a call', async () => {
    const world = await worldOf();
    const kubelet = await world.start();
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.node.untilReady('web');
    world.driver.capabilities = [];
    await kubelet.end('web');
    await kubelet.node.advance(30 * second);
    expect(world.driver.log()).toEqual(['nodeStageVolume', 'nodePublishVolume', 'nodeUnpublishVolume']);
    expect(await world.outside.pods()).toEqual([]);
  });

  it('its subPaths are gone before the driver is asked to unpublish', async () => {
    const world = await worldOf();
    await world.driver.volumes.write('vol-disk', 'kept', 'kept');
    const mount = { name: 'data', mountPath: '/v', subPath: 'part' };
    const kubelet = await world.start();
    kubelet.node.set([
      claimPod('web', 'disk', { containers: [{ name: 'app', image: 'app:1', volumeMounts: [mount] }] }),
    ]);
    await kubelet.node.untilReady('web');
    expect(await world.outside.mounts()).toHaveLength(2);
    let left: readonly string[] = ['not asked'];
    world.driver.afterUnpublish = async () => {
      left = await world.outside.mounts();
    };
    await kubelet.end('web');
    await kubelet.untilNothingIsLeft();
    expect(left).toEqual([]);
  });
});

it('each pod has a target of its own, of one staged volume', async () => {
  const world = await worldOf();
  const kubelet = await world.start();
  kubelet.node.set([claimPod('a', 'disk'), claimPod('b', 'disk')]);
  for (const name of ['a', 'b']) await kubelet.node.untilReady(name);
  const requests = world.driver.requests<NodePublishVolumeRequest>('nodePublishVolume');
  expect(new Set(requests.map(({ targetPath }) => targetPath)).size).toBe(2);
  expect(new Set(requests.map(({ stagingTargetPath }) => stagingTargetPath)).size).toBe(1);
  expect(world.driver.log().filter((call) => call === 'nodeStageVolume')).toHaveLength(1);
  await kubelet.end('a');
  await kubelet.node.advance(20 * second);
  expect(world.driver.log()).not.toContain('nodeUnstageVolume');
  await kubelet.end('b');
  await kubelet.untilNothingIsLeft();
  expect(world.driver.log().filter((call) => call === 'nodeUnstageVolume')).toHaveLength(1);
});

describe('the group of a pod', () => {
  const grouped = (securityContext: object = { fsGroup: 1234 }): Pod =>
    claimPod('web', 'disk', { spec: { securityContext } });

  it('that cannot be given the volume keeps the pod from starting, and the volume is unpublished with it', async () => {
    const world = await worldOf({ csi: disk('ext4') });
    await world.driver.volumes.write('vol-disk', 'kept', 'kept');
    const kubelet = await world.start();
    kubelet.on.host.inject({
      at: ({ operation, path }) => operation === 'readdir' && path.startsWith(`${published}/mount`),
      when: 'before',
      effect: { kind: 'fail', code: 'EIO' },
    });
    kubelet.node.set([grouped()]);
    await kubelet.node.advance(5 * second);
    expect(kubelet.node.isReady('web')).toBe(false);
    expect(kubelet.node.events('web', 'FailedMount')[0]?.message).toMatch(
      /^MountVolume.SetUp failed for volume "pv-disk" : applyFSGroup failed for vol vol-disk: /,
    );
    expect(world.driver.log().slice(0, 3)).toEqual([
      'nodeStageVolume',
      'nodePublishVolume',
      'nodePublishVolume',
    ]);
    await kubelet.end('web');
    await kubelet.untilNothingIsLeft();
    expect(world.driver.log().slice(-2)).toEqual(['nodeUnpublishVolume', 'nodeUnstageVolume']);
  });

  it.each([
    ['OnRootMismatch', 0o600],
    ['Always', 0o660],
  ])('is given the files of a volume that is published again, by the policy %s', async (policy, mode) => {
    const world = await worldOf({ csi: disk('ext4') });
    await world.driver.volumes.write('vol-disk', 'kept', 'kept');
    const pod = grouped({ fsGroup: 1234, fsGroupChangePolicy: policy });
    const first = await world.start();
    first.node.set([pod]);
    await first.node.untilReady('web');
    const { files } = simulatedHost({ machine: world.files });
    const file = `${published}/mount/kept`;
    expect((await files.stat(file)).mode & 0o777).toBe(0o664);
    await files.chmod(file, 0o600);
    await first.crash();
    const next = await world.start();
    next.node.set([pod]);
    await next.node.untilReady('web');
    await next.node.advance(5 * second);
    expect(world.driver.log().filter((call) => call === 'nodePublishVolume')).toHaveLength(2);
    expect((await files.stat(file)).mode & 0o777).toBe(mode);
  });
});
