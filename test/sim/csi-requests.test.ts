/** What a CSI driver is asked for the volumes and pods of a node, how long it may take, and what is counted. */
import { afterEach, describe, expect, it } from 'vitest';
import { settle } from '../../src/async/index.js';
import { simulatedHost } from '../../src/host/index.js';
import type { PersistentVolumeSpec, Pod } from '../../src/kube/index.js';
import type { DriverPolicy } from '../../src/volumes/csi/driver-policy.js';
import type { NodePublishVolumeRequest, NodeStageVolumeRequest } from '../../src/volumes/csi/gen/csi.js';
import { inlineHandle } from '../../src/volumes/csi/names.js';
import { CsiCluster } from './csi-cluster.js';

let cluster: CsiCluster;
afterEach(() => cluster.manager.stop());

const target = '/var/lib/kubelet/pods/u1/volumes/kubernetes.io~csi/pv-c/mount';
const csi = (more: object = {}) => ({ driver: 'd.test', volumeHandle: 'vol-c', ...more });
const published = (): NodePublishVolumeRequest[] =>
  cluster.driver.requests<NodePublishVolumeRequest>('nodePublishVolume');
const mountOf = (request: NodeStageVolumeRequest | NodePublishVolumeRequest | undefined) =>
  request?.volumeCapability?.accessType?.value;

it('a volume without a type of file system is staged and published without one', async () => {
  cluster = await CsiCluster.start();
  await cluster.claim('c');
  expect(await cluster.sync(cluster.pod('u1', 'c'))).toBe('mounted');
  const [staged] = cluster.driver.requests<NodeStageVolumeRequest>('nodeStageVolume');
  for (const request of [staged, published()[0]]) expect(mountOf(request)).toMatchObject({ fsType: '' });
});

it.each<
  [rule: string, spec: Partial<PersistentVolumeSpec>, claim: boolean, mount: boolean, expected: object]
>([
  ['the claim of the pod', {}, true, false, { readonly: true, isMountReadOnly: true }],
  [
    'the PersistentVolume alone',
    { csi: csi({ readOnly: true }) },
    false,
    false,
    { readonly: false, isMountReadOnly: false },
  ],
  [
    'its access mode alone',
    { accessModes: ['ReadOnlyMany'] },
    false,
    false,
    { readonly: false, isMountReadOnly: false },
  ],
  ['the mount of the container alone', {}, false, true, { readonly: false, isMountReadOnly: true }],
])('read-only is said by %s', async (_, spec, readOnly, isMountReadOnly, expected) => {
  cluster = await CsiCluster.start();
  await cluster.claim('c', spec);
  const pod = cluster.pod('u1', 'c', { readOnly });
  pod.spec.containers[0]!.volumeMounts![0]!.readOnly = isMountReadOnly;
  expect(await cluster.sync(pod)).toBe('mounted');
  const [mount] = await cluster.manager.mounts(pod, pod.spec.containers[0]!, {
    subPath: () => '',
    imageOf: () => undefined,
    runtimeHandler: '',
  });
  expect({ readonly: published()[0]?.readonly, isMountReadOnly: mount?.readonly }).toEqual(expected);
});

it('the driver makes the target: only its parent and the metadata are there before', async () => {
  cluster = await CsiCluster.start();
  await cluster.claim('c');
  const { files } = simulatedHost({ machine: cluster.machine });
  const parent = target.replace(/\/mount$/, '');
  const seen: unknown[] = [];
  cluster.driver.beforePublish = async () => {
    const keys = Object.keys(
      JSON.parse(new TextDecoder().decode(await files.readFile(`${parent}/vol_data.json`))),
    );
    seen.push(await files.readdir(parent), (await files.stat(parent)).mode & 0o777, keys);
  };
  expect(await cluster.sync(cluster.pod('u1', 'c'))).toBe('mounted');
  const keys = ['attachmentID', 'driverName', 'nodeName', 'specVolID', 'volumeHandle', 'volumeLifecycleMode'];
  expect(seen).toEqual([['vol_data.json'], 0o750, keys]);
});

describe('the group of a pod', () => {
  const grouped = (pod: Pod): Pod => {
    pod.spec.securityContext = { fsGroup: 1234 };
    return pod;
  };
  const groupOf = async (path: string): Promise<number> => {
    const { files } = simulatedHost({ machine: cluster.machine });
    return (await files.stat(`${path}/kept`)).gid;
  };
  const many = { accessModes: ['ReadWriteMany'] };

  it.each<
    [
      rule: string,
      policy: Partial<DriverPolicy>,
      spec: Partial<PersistentVolumeSpec>,
      more: object,
      gid: number,
    ]
  >([
    ['gets a volume of one node', {}, { csi: csi({ fsType: 'ext4' }) }, {}, 1234],
    ['gets no volume of many nodes', {}, { ...many, csi: csi({ fsType: 'ext4' }) }, {}, 0],
    ['gets one of many nodes by the policy File', { fsGroupPolicy: 'File' }, many, {}, 1234],
    [
      'gets none that is read-only',
      { fsGroupPolicy: 'File' },
      { csi: csi({ fsType: 'ext4' }) },
      { readOnly: true },
      0,
    ],
  ])('%s', async (_, policy, spec, more, gid) => {
    cluster = await CsiCluster.start();
    cluster.policy = { ...cluster.policy, ...policy };
    await cluster.driver.volumes.write('vol-c', 'kept', 'kept');
    await cluster.claim('c', spec);
    expect(await cluster.sync(grouped(cluster.pod('u1', 'c', more)))).toBe('mounted');
    expect(await groupOf(target)).toBe(gid);
  });

  it.each<[rule: string, policy: Partial<DriverPolicy>, fsType: object, gid: number]>([
    ['with a type of file system', {}, { fsType: 'ext4' }, 1234],
    ['not without one', {}, {}, 0],
    ['by the policy File in any case', { fsGroupPolicy: 'File' }, {}, 1234],
  ])('gets an inline volume %s', async (_, policy, fsType, gid) => {
    cluster = await CsiCluster.start();
    cluster.policy = { ...cluster.policy, volumeLifecycleModes: ['Ephemeral'], ...policy };
    const pod = grouped(cluster.podWith('u1', { csi: { driver: 'd.test', ...fsType } }));
    await cluster.driver.volumes.write(inlineHandle('u1', 'data'), 'kept', 'kept');
    expect(await cluster.sync(pod)).toBe('mounted');
    expect(await groupOf(target.replace('pv-c', 'data'))).toBe(gid);
  });

  it('is told to a driver that can do it, also by the policy None', async () => {
    cluster = await CsiCluster.start();
    cluster.policy = { ...cluster.policy, fsGroupPolicy: 'None' };
    cluster.driver.capabilities = ['STAGE_UNSTAGE_VOLUME', 'VOLUME_MOUNT_GROUP'];
    await cluster.driver.volumes.write('vol-c', 'kept', 'kept');
    await cluster.claim('c', { csi: csi({ fsType: 'ext4' }) });
    expect(await cluster.sync(grouped(cluster.pod('u1', 'c')))).toBe('mounted');
    const [staged] = cluster.driver.requests<NodeStageVolumeRequest>('nodeStageVolume');
    for (const request of [staged, published()[0]])
      expect(mountOf(request)).toMatchObject({ volumeMountGroup: '1234' });
    expect(await groupOf(target)).toBe(0);
  });
});

it('a stage that is refused for good after an uncertain one has nothing to unstage', async () => {
  cluster = await CsiCluster.start();
  await cluster.claim('c');
  const refuse = (code: 'DeadlineExceeded' | 'InvalidArgument', times: number): void => {
    const effect = { kind: 'error', code } as const;
    cluster.driver.fail({ method: 'nodeStageVolume', when: 'before', effect, times });
  };
  refuse('DeadlineExceeded', 1);
  refuse('InvalidArgument', 1000);
  const pod = cluster.pod('u1', 'c');
  await cluster.sync(pod);
  await cluster.end(pod);
  await cluster.clock.advance(60_000);
  expect([...new Set(cluster.driver.log())]).toEqual([
    'nodeStageVolume DeadlineExceeded',
    'nodeStageVolume InvalidArgument',
  ]);
  const { files } = simulatedHost({ machine: cluster.machine });
  expect(await files.readdir('/var/lib/kubelet/plugins/kubernetes.io/csi/d.test')).toEqual([]);
});

it('a driver that hangs is given two minutes, while others are served', async () => {
  cluster = await CsiCluster.start();
  for (const name of ['c', 'other']) await cluster.claim(name);
  const other = cluster.pod('u2', 'other');
  expect(await cluster.sync(other)).toBe('mounted');
  cluster.driver.fail({ method: 'nodeStageVolume', when: 'before', effect: { kind: 'hang' } });
  const began = cluster.clock.now();
  const waiting = cluster.sync(cluster.pod('u1', 'c'));
  await settle();
  await cluster.end(other);
  const ended = cluster.driver.calls.find(({ method }) => method === 'nodeUnpublishVolume');
  expect(ended?.code).toBe('OK');
  expect((ended?.atMs ?? 0) - began).toBeLessThan(5_000);
  await waiting;
  await cluster.clock.advance(60_000);
  const stages = cluster.driver.calls
    .filter(({ method, request }) => method === 'nodeStageVolume' && request.volumeId === 'vol-c')
    .map(({ atMs, code }) => [Math.round((atMs - began) / 1000), code]);
  expect(stages).toEqual([
    [0, 'DeadlineExceeded'],
    [121, 'OK'],
  ]);
});

it('an empty target that a driver leaves is removed', async () => {
  cluster = await CsiCluster.start();
  await cluster.claim('c');
  const pod = cluster.pod('u1', 'c');
  await cluster.sync(pod);
  const { files } = simulatedHost({ machine: cluster.machine });
  cluster.driver.afterUnpublish = () => files.mkdir(target);
  await cluster.end(pod);
  await expect(files.stat(target)).rejects.toThrow('ENOENT');
  expect(cluster.driver.log().filter((call) => call === 'nodeUnpublishVolume')).toHaveLength(1);
});

it('failed operations and calls that no driver took are counted', async () => {
  cluster = await CsiCluster.start();
  await cluster.claim('c');
  cluster.driver.kill();
  const pod = cluster.pod('u1', 'c');
  await cluster.sync(pod);
  await cluster.driver.start();
  expect(await cluster.sync(pod)).toBe('mounted');
  const counted = (text: string): number =>
    Number(new RegExp(`${text}.* (\\d+)$`, 'm').exec(cluster.registry.text())?.[1] ?? 0);
  expect(
    counted('csi_operations_seconds_count{driver_name="d.test",.*grpc_status_code="Unavailable"'),
  ).toBeGreaterThan(0);
  const mounts = (status: string): number =>
    counted(
      `storage_operation_duration_seconds_count{volume_plugin="kubernetes.io/csi:d.test",operation_name="volume_mount",status="${status}"`,
    );
  expect(mounts('fail-unknown')).toBeGreaterThan(0);
  expect(mounts('success')).toBe(1);
});
