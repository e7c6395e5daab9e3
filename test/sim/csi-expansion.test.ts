/** Volumes that grow while a node uses them: which calls the driver gets, and what pods and claims are told. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle } from '../../src/async/index.js';
import type { GrpcCodeName } from '../../src/grpc/index.js';
import { ApiError, resources } from '../../src/kube-client/index.js';
import type { NodeExpandVolumeRequest } from '../../src/volumes/csi/gen/csi.js';
import { CsiCluster } from './csi-cluster.js';

const gi = 1024 ** 3;
let cluster: CsiCluster;
beforeEach(async () => {
  cluster = await CsiCluster.start();
});
afterEach(() => cluster.manager.stop());

const expansions = (): NodeExpandVolumeRequest[] =>
  cluster.driver.requests<NodeExpandVolumeRequest>('nodeExpandVolume');
const sizes = (): number[] =>
  expansions().map(({ capacityRange }) => (capacityRange?.requiredBytes ?? 0) / gi);
const fail = (code: GrpcCodeName, times = 1): void =>
  cluster.driver.fail({ method: 'nodeExpandVolume', when: 'before', effect: { kind: 'error', code }, times });
const resizeEvents = (kind?: 'claim'): string[] =>
  cluster.events(kind).filter((text) => text.includes('Resize'));

const expanded = 'FileSystemResizeSuccessful MountVolume.NodeExpandVolume succeeded for volume "pv-c" node-1';
const refused = (code: string): string =>
  `Expander.NodeExpand failed to expand the volume : rpc error: code = ${code} desc = injected`;
const resizeFailed = (code: string): string =>
  `VolumeResizeFailed NodeExpandVolume.NodeExpandVolume failed for volume "pv-c" : ${refused(code)}`;

async function running(...given: Parameters<CsiCluster['claim']> | []) {
  const [name = 'c', ...more] = given;
  await cluster.claim(name, ...more);
  const pod = cluster.pod('u1', 'c');
  expect(await cluster.sync(pod)).toBe('mounted');
  return pod;
}

describe('a volume that grows while a pod uses it', () => {
  it('is expanded to the allocated size, and its claim, its pod and the driver agree', async () => {
    const pod = await running('c', {
      mountOptions: ['noatime'],
      csi: {
        driver: 'd.test',
        volumeHandle: 'vol-c',
        fsType: 'ext4',
        nodeExpandSecretRef: { namespace: 'ns', name: 'key' },
      },
    });
    await cluster.api.create(resources.secrets, {
      metadata: { name: 'key', namespace: 'ns' },
      data: { pass: Buffer.from('word').toString('base64') },
    });
    await cluster.status('c', { conditions: [{ type: 'FileSystemResizePending', status: 'True' }] });
    await cluster.grow('c', '2Gi');
    await cluster.sync(pod);
    expect(await cluster.told('c')).toBe('2Gi -');
    expect((await cluster.read('c')).status).toEqual({
      phase: 'Bound',
      capacity: { storage: '2Gi' },
      allocatedResources: { storage: '2Gi' },
    });
    expect(expansions()).toEqual([
      {
        volumeId: 'vol-c',
        volumePath: '/var/lib/kubelet/pods/u1/volumes/kubernetes.io~csi/pv-c/mount',
        capacityRange: { requiredBytes: 2 * gi, limitBytes: 0 },
        stagingTargetPath: expect.stringMatching(
          /plugins\/kubernetes.io\/csi\/d.test\/[0-9a-f]{64}\/globalmount$/,
        ),
        volumeCapability: {
          accessType: {
            case: 'mount',
            value: { fsType: 'ext4', mountFlags: ['noatime'], volumeMountGroup: '' },
          },
          accessMode: { mode: 1 },
        },
        secrets: { pass: 'word' },
      },
    ]);
    expect(resizeEvents()).toEqual([expanded]);
    expect(resizeEvents('claim')).toEqual([expanded]);
  });

  it('is expanded once, however often the pod is synced', async () => {
    const pod = await running();
    await cluster.grow('c', '2Gi');
    for (let sync = 0; sync < 4; sync++) await cluster.sync(pod);
    await cluster.clock.advance(600_000);
    expect(sizes()).toEqual([2]);
    await cluster.grow('c', '3Gi');
    await cluster.sync(pod);
    expect(sizes()).toEqual([2, 3]);
    expect(await cluster.told('c')).toBe('3Gi -');
  });

  it.each<GrpcCodeName>(['InvalidArgument', 'OutOfRange', 'NotFound'])(
    'that is infeasible (%s) is given up until its controller lowers the size',
    async (code) => {
      const pod = await running();
      await cluster.grow('c', '9Gi');
      fail(code);
      await cluster.sync(pod);
      await cluster.clock.advance(600_000);
      await cluster.sync(pod);
      expect(sizes()).toEqual([9]);
      expect(await cluster.told('c')).toBe(
        `1Gi NodeResizeInfeasible NodeResizeError: failed to expand pvc with ${refused(code)}`,
      );
      expect(resizeEvents()).toEqual([resizeFailed(code)]);
      await cluster.status('c', {
        allocatedResources: { storage: '2Gi' },
        allocatedResourceStatuses: { storage: 'NodeResizePending' },
      });
      await cluster.sync(pod);
      expect(sizes()).toEqual([9, 2]);
      expect(await cluster.told('c')).toBe('2Gi -');
    },
  );

  it.each<GrpcCodeName>(['Internal', 'DeadlineExceeded', 'Unavailable', 'Unknown'])(
    'fails with %s: the claim says so, and it is tried again with growing pauses',
    async (code) => {
      const pod = await running();
      await cluster.grow('c', '2Gi');
      fail(code, 3);
      await cluster.sync(pod);
      expect(await cluster.told('c')).toBe(
        `1Gi NodeResizeInProgress NodeResizeError: failed to expand pvc with ${refused(code)}`,
      );
      await cluster.clock.advance(10_000);
      const times = cluster.driver.calls
        .filter(({ method }) => method === 'nodeExpandVolume')
        .map(({ atMs }) => atMs);
      expect(times.map((at) => Math.round(at - (times[0] ?? 0)))).toEqual([0, 500, 1500, 3500]);
      expect(await cluster.told('c')).toBe('2Gi -');
      expect(resizeEvents()).toEqual([...Array(3).fill(resizeFailed(code)), expanded]);
    },
  );

  it('that is refused twice becomes infeasible when the user asks for less', async () => {
    const pod = await running();
    await cluster.grow('c', '2Gi');
    fail('Internal', 2);
    await cluster.sync(pod);
    await cluster.request('c', '1500Mi');
    await cluster.clock.advance(5_000);
    expect(sizes()).toEqual([2, 2]);
    expect(await cluster.told('c')).toContain('1Gi NodeResizeInfeasible NodeResizeError');
  });

  it('whose driver cannot do that in use is asked once, and again for the next pod', async () => {
    const pod = await running();
    await cluster.grow('c', '2Gi');
    fail('FailedPrecondition');
    await cluster.sync(pod);
    await cluster.clock.advance(600_000);
    await cluster.sync(pod);
    expect(sizes()).toEqual([2]);
    expect(await cluster.told('c')).toBe(
      `1Gi NodeResizeInProgress NodeResizeError: failed to expand pvc with ${refused('FailedPrecondition')}`,
    );
    expect(resizeEvents()).toEqual([]);
    await cluster.end(pod);
    await cluster.sync(cluster.pod('u2', 'c'));
    expect(sizes()).toEqual([2, 2]);
    expect(await cluster.told('c')).toBe('2Gi -');
  });

  it.each(['ControllerResizeInProgress', 'ControllerResizeInfeasible', 'NodeResizeInfeasible'])(
    'is left alone while its claim is %s, without asking all the time',
    async (state) => {
      const pod = await running();
      await cluster.grow('c', '2Gi', state);
      const before = cluster.api.calls.length;
      await cluster.sync(pod);
      await cluster.clock.advance(60_000);
      expect(sizes()).toEqual([]);
      expect(cluster.api.calls.length - before).toBeLessThan(12);
      await cluster.status('c', { allocatedResourceStatuses: { storage: 'NodeResizePending' } });
      await cluster.sync(pod);
      expect(sizes()).toEqual([2]);
    },
  );

  it('is seen a little later without a sync, when its controller was slower than the pod', async () => {
    const pod = await running();
    await cluster.grow('c', '2Gi', 'ControllerResizeInProgress');
    await cluster.sync(pod);
    await cluster.clock.advance(2_000);
    await cluster.status('c', { allocatedResourceStatuses: { storage: 'NodeResizePending' } });
    await cluster.clock.advance(10_000);
    expect(await cluster.told('c')).toBe('2Gi -');
  });

  it('whose driver is gone writes nothing, and is expanded when it is back', async () => {
    const pod = await running();
    await cluster.grow('c', '2Gi');
    cluster.deregister();
    await cluster.sync(pod);
    expect(await cluster.told('c')).toBe('1Gi NodeResizeInProgress');
    expect(resizeEvents()).toEqual([
      'VolumeResizeFailed NodeExpandVolume.NodeExpandVolume failed for volume "pv-c" : driver name d.test not found in the list of registered CSI drivers',
    ]);
    await cluster.register();
    await settle();
    expect(await cluster.told('c')).toBe('2Gi -');
  });

  it('whose secret is missing says so in the claim, and is expanded when it is there', async () => {
    const csi = {
      driver: 'd.test',
      volumeHandle: 'vol-c',
      nodeExpandSecretRef: { namespace: 'ns', name: 'key' },
    };
    const pod = await running('c', { csi });
    await cluster.grow('c', '2Gi');
    await cluster.sync(pod);
    expect(await cluster.told('c')).toMatch(
      /^1Gi NodeResizeInProgress NodeResizeError: failed to expand pvc with expander.NodeExpand failed to get NodeExpandSecretRef ns\/key: /,
    );
    expect(sizes()).toEqual([]);
    await cluster.api.create(resources.secrets, { metadata: { name: 'key', namespace: 'ns' } });
    await cluster.clock.advance(5_000);
    expect(await cluster.told('c')).toBe('2Gi -');
  });

  it('without an allocated size is expanded to that of the PersistentVolume', async () => {
    const pod = await running();
    await cluster.grow('c', '2Gi', '');
    await cluster.sync(pod);
    expect(sizes()).toEqual([2]);
    expect((await cluster.read('c')).status).toEqual({ phase: 'Bound', capacity: { storage: '2Gi' } });
  });

  it('without an allocated size, of a driver that cannot expand, changes nothing', async () => {
    cluster.driver.capabilities = ['STAGE_UNSTAGE_VOLUME'];
    const pod = await running();
    await cluster.grow('c', '2Gi', '');
    const writes = cluster.writes;
    await cluster.sync(pod);
    await cluster.clock.advance(60_000);
    expect(sizes()).toEqual([]);
    expect(cluster.writes).toBe(writes);
    expect(resizeEvents()).toEqual([]);
  });

  it('of a driver that cannot expand fails, where the claim waits for the node', async () => {
    cluster.driver.capabilities = ['STAGE_UNSTAGE_VOLUME'];
    const pod = await running();
    await cluster.grow('c', '2Gi');
    await cluster.sync(pod);
    expect(await cluster.told('c')).toBe(
      '1Gi NodeResizeInProgress NodeResizeError: failed to expand pvc with NodeExpand is not supported by the CSI driver d.test',
    );
  });
});

describe('a volume that many nodes share', () => {
  const shared = { accessModes: ['ReadWriteMany'] };
  const finished = {
    capacity: { storage: '2Gi' },
    allocatedResources: { storage: '2Gi' },
  };

  it('is expanded here, too, when another node has written the claim', async () => {
    const pod = await running('c', shared);
    await cluster.grow('c', '2Gi', '');
    await cluster.status('c', finished);
    const writes = cluster.writes;
    await cluster.sync(pod);
    await cluster.clock.advance(60_000);
    expect(sizes()).toEqual([2]);
    expect(cluster.writes).toBe(writes);
  });

  it('is left alone where one node is enough', async () => {
    const annotations = { 'volume.kubernetes.io/node-expansion-not-required': 'true' };
    const pod = await running('c', shared, {}, annotations);
    await cluster.grow('c', '2Gi', '');
    await cluster.status('c', finished);
    await cluster.sync(pod);
    await cluster.clock.advance(60_000);
    expect(sizes()).toEqual([]);
  });
});

describe('a volume that has grown before its pod starts', () => {
  it('is expanded after it is published and before the pod runs', async () => {
    await cluster.claim('c');
    await cluster.grow('c', '2Gi');
    expect(await cluster.sync(cluster.pod('u1', 'c'))).toBe('mounted');
    expect(cluster.driver.log()).toEqual(['nodeStageVolume', 'nodePublishVolume', 'nodeExpandVolume']);
    expect(await cluster.told('c')).toBe('2Gi -');
    await cluster.clock.advance(600_000);
    expect(sizes()).toEqual([2]);
  });

  it('keeps the pod waiting while that fails, and is unpublished if the pod goes', async () => {
    await cluster.claim('c');
    await cluster.grow('c', '2Gi');
    fail('Internal', 1000);
    const pod = cluster.pod('u1', 'c');
    expect(await cluster.sync(pod)).toContain('unmounted volumes=[data]');
    expect(cluster.events()).toContain(
      `FailedMount MountVolume.Setup failed while expanding volume for volume "pv-c" : ${refused('Internal')}`,
    );
    await cluster.end(pod);
    expect(cluster.driver.log().slice(-2)).toEqual(['nodeUnpublishVolume', 'nodeUnstageVolume']);
    cluster.driver.mend();
    expect(await cluster.sync(cluster.pod('u2', 'c'))).toBe('mounted');
    expect(await cluster.told('c')).toBe('2Gi -');
  });

  it('starts the pod all the same if the driver cannot expand and no size is allocated', async () => {
    cluster.driver.capabilities = ['STAGE_UNSTAGE_VOLUME'];
    await cluster.claim('c');
    await cluster.grow('c', '2Gi', '');
    expect(await cluster.sync(cluster.pod('u1', 'c'))).toBe('mounted');
    expect((await cluster.read('c')).status).toEqual({ phase: 'Bound', capacity: { storage: '1Gi' } });
  });

  it('is not expanded for a pod that only reads: pod and claim are told once', async () => {
    await cluster.claim('c');
    await cluster.grow('c', '2Gi');
    const pod = cluster.pod('u1', 'c', { readOnly: true });
    expect(await cluster.sync(pod)).toBe('mounted');
    await cluster.sync(pod);
    await cluster.clock.advance(60_000);
    const text =
      'FileSystemResizeFailed MountVolume.NodeExpandVolume failed for volume "pv-c" requested read-only file system';
    expect(resizeEvents()).toEqual([text]);
    expect(resizeEvents('claim')).toEqual([text]);
    expect(sizes()).toEqual([]);
    expect(await cluster.told('c')).toBe('1Gi NodeResizePending');
  });

  it('needs no more of the API than others if it has its size', async () => {
    await cluster.claim('c');
    await cluster.sync(cluster.pod('u1', 'c'));
    const reads = cluster.api.calls.filter(({ resource }) => resource === 'persistentvolumeclaims');
    expect(reads.map(({ verb }) => verb)).toEqual(['create', 'get']);
  });
});

describe('when writing the claim fails', () => {
  const conflict = (skip: number): void =>
    void cluster.api.faults.add({
      verb: 'patch',
      resource: resources.persistentVolumeClaims,
      skip,
      fault: {
        kind: 'refuse',
        error: new ApiError({ code: 409, reason: 'Conflict', message: 'the object has been modified' }),
      },
    });

  it('before the driver is asked, the driver is not asked', async () => {
    const pod = await running();
    await cluster.grow('c', '2Gi');
    conflict(0);
    await cluster.sync(pod);
    expect(sizes()).toEqual([]);
    await cluster.clock.advance(5_000);
    expect(sizes()).toEqual([2]);
    expect(await cluster.told('c')).toBe('2Gi -');
  });

  it('after the driver has expanded it, only the claim is written again', async () => {
    const pod = await running();
    await cluster.grow('c', '2Gi');
    conflict(1);
    await cluster.sync(pod);
    expect(await cluster.told('c')).toBe('1Gi NodeResizeInProgress');
    await cluster.clock.advance(5_000);
    expect(sizes()).toEqual([2]);
    expect(await cluster.told('c')).toBe('2Gi -');
  });

  it('after the driver has refused, the pod is told of both', async () => {
    const pod = await running();
    await cluster.grow('c', '2Gi');
    fail('Internal');
    conflict(1);
    await cluster.sync(pod);
    expect(await cluster.told('c')).toBe('1Gi NodeResizeInProgress');
    expect(resizeEvents()).toEqual([
      `${resizeFailed('Internal')}; the claim could not be told: the object has been modified`,
    ]);
    await cluster.clock.advance(5_000);
    expect(await cluster.told('c')).toBe('2Gi -');
  });

  it('it overwrites nothing that someone else wrote meanwhile', async () => {
    const pod = await running();
    await cluster.grow('c', '2Gi');
    cluster.driver.fail({ method: 'nodeExpandVolume', when: 'before', effect: { kind: 'hang' } });
    const syncing = cluster.sync(pod);
    await settle();
    await cluster.status('c', { allocatedResources: { storage: '3Gi' } });
    await syncing;
    await cluster.grow('c', '3Gi', 'NodeResizePending');
    await cluster.clock.advance(130_000);
    await cluster.sync(pod);
    expect(sizes().at(-1)).toBe(3);
    expect(await cluster.told('c')).toBe('3Gi -');
  });
});

describe('a node that dies', () => {
  it('between the work of the driver and the writing of the claim expands again and ends well', async () => {
    const pod = await running();
    await cluster.grow('c', '2Gi');
    cluster.dieAfter('NodeExpandVolume');
    await cluster.sync(pod);
    expect(cluster.driver.sizes.get('vol-c')).toBe(2 * gi);
    await cluster.restart();
    cluster.api.setReachable(true);
    expect(await cluster.told('c')).toBe('1Gi NodeResizeInProgress');
    expect(await cluster.sync(pod)).toBe('mounted');
    expect(sizes()).toEqual([2, 2]);
    expect(await cluster.told('c')).toBe('2Gi -');
    expect(cluster.driver.log()).not.toContain('nodeUnpublishVolume');
  });

  it('knows after a restart that an expanded volume is expanded', async () => {
    const pod = await running();
    await cluster.grow('c', '2Gi');
    await cluster.sync(pod);
    await cluster.restart();
    await cluster.sync(pod);
    await cluster.clock.advance(60_000);
    expect(sizes()).toEqual([2]);
  });
});

describe('what is counted', () => {
  it('are the expansions of volumes in use, and each call', async () => {
    const pod = await running();
    await cluster.grow('c', '2Gi');
    fail('Internal');
    await cluster.sync(pod);
    await cluster.clock.advance(5_000);
    const text = cluster.registry.text();
    expect(text).toMatch(
      /storage_operation_duration_seconds_count\{volume_plugin="kubernetes.io\/csi[^"]*",operation_name="volume_fs_resize",status="success",migrated="false"\} 1/,
    );
    expect(text).toMatch(/operation_name="volume_fs_resize",status="fail-unknown",migrated="false"\} 1/);
    expect(text).toMatch(
      /csi_operations_seconds_count\{driver_name="d.test",method_name="\/csi.v1.Node\/NodeExpandVolume",grpc_status_code="Internal",migrated="false"\} 1/,
    );
  });
});
