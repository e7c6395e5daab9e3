/**
 * Volumes that grow on a real API server and real disks: pods see the new size, and claims say so. They are of xfs: the
 * kernel lets only a process with CAP_SYS_RESOURCE enlarge an ext4 that is mounted.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PersistentVolumeClaim, parseQuantity, quantityValue } from '../../src/kube/index.js';
import { resources } from '../../src/kube-client/index.js';
import type { CsiDriverProcess } from '../env/csi-driver/driver-process.js';
import { Controller } from '../env/csi-driver/gen/controller.js';
import { busybox, type Cluster, container, eventually, forever, podManifest } from './cluster.js';
import { claimSpec, type StorageCluster, startStorageCluster } from './csi-storage.js';

const namespace = 'default';
const mi = 1024 * 1024;
let storage: StorageCluster;
let cluster: Cluster;

beforeAll(async () => {
  storage = await startStorageCluster();
  ({ cluster } = storage);
});
afterAll(() => cluster?.stop());

const claimOf = (name: string) => cluster.api.get(resources.persistentVolumeClaims, { namespace, name });

async function claim(
  name: string,
  driver: CsiDriverProcess,
  size: string,
  volumeMode: 'Filesystem' | 'Block' = 'Filesystem',
): Promise<void> {
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace },
    spec: { ...claimSpec(driver, size), volumeMode },
  });
  await eventually('it is bound', async () => (await claimOf(name)).status?.phase === 'Bound');
}

async function run(pod: string, claimName: string): Promise<void> {
  await cluster.apply(
    podManifest(pod, {
      containers: [
        {
          name: 'app',
          image: busybox,
          command: forever,
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
      ],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
    }),
  );
}

/** The size of the file system as the pod's processes see it. */
async function seenMi(pod: string): Promise<number> {
  const [, line = ''] = (await cluster.exec(pod, 'df', '-k', '/data')).trim().split('\n');
  return Math.round(Number(line.split(/\s+/)[1]) / 1024);
}

/** A user asks for more, and the controllers of the driver do their part. */
async function grow(name: string, driver: CsiDriverProcess, size: string): Promise<void> {
  const ref = { namespace, name };
  const body = { spec: { resources: { requests: { storage: size } } } };
  const { spec } = await cluster.api.patch(resources.persistentVolumeClaims, ref, { type: 'merge', body });
  const volumeName = spec.volumeName ?? '';
  const status = (state: string) =>
    cluster.api.patch(
      resources.persistentVolumeClaims,
      ref,
      {
        type: 'merge',
        body: {
          status: {
            allocatedResources: { storage: size },
            allocatedResourceStatuses: { storage: state },
            conditions: [{ type: 'Resizing', status: 'True' }],
          },
        },
      },
      { subresource: 'status' },
    );
  await status('ControllerResizeInProgress');
  const volume = await cluster.api.get(resources.persistentVolumes, { name: volumeName });
  await driver.controller(Controller.controllerExpandVolume, {
    volumeId: volume.spec.csi?.volumeHandle ?? '',
    capacityRange: { requiredBytes: Number(quantityValue(parseQuantity(size))) },
  });
  await cluster.api.patch(
    resources.persistentVolumes,
    { name: volumeName },
    { type: 'merge', body: { spec: { capacity: { storage: size } } } },
  );
  await status('NodeResizePending');
}

/** A change of the pod is looked at sooner than its next sync. */
const nudge = (pod: string) => cluster.kubectl('annotate', 'pod', pod, `nudge=${Date.now()}`, '--overwrite');

/** Without what the cluster tells of who uses the claim. */
const resizeConditions = (status: PersistentVolumeClaim['status']) =>
  (status?.conditions ?? []).filter(({ type }) => type !== 'Unused');

const untilWritten = (name: string, size: string): Promise<void> =>
  eventually(
    `claim ${name} has ${size}`,
    async () => (await claimOf(name)).status?.capacity?.storage === size,
  );

it('a volume in use grows, and its container goes on', async () => {
  const { plain } = storage;
  await claim('online', plain, '320Mi');
  await run('online', 'online');
  await cluster.untilReady('online');
  await cluster.exec('online', 'sh', '-c', 'echo kept > /data/file');
  const before = await seenMi('online');
  const life = container(await cluster.pod('online')).containerID;
  await grow('online', plain, '512Mi');
  await nudge('online');
  await untilWritten('online', '512Mi');
  expect(before).toBeLessThan(320);
  expect(await seenMi('online')).toBeGreaterThan(400);
  expect(await cluster.exec('online', 'cat', '/data/file')).toBe('kept\n');
  expect(container(await cluster.pod('online')).containerID).toBe(life);
  const { status } = await claimOf('online');
  expect(status?.allocatedResourceStatuses ?? {}).toEqual({});
  expect(resizeConditions(status)).toEqual([]);
  const [request] = plain.calls
    .filter(({ method }) => method === 'nodeExpandVolume')
    .map(({ request: given }) => given);
  expect(request).toMatchObject({ capacityRange: { requiredBytes: 512 * mi } });
  await eventually('pod and claim are told', async () => {
    const { items } = await cluster.api.list(resources.events, { namespace });
    const kinds = items
      .filter(({ reason }) => reason === 'FileSystemResizeSuccessful')
      .map(({ involvedObject }) => `${involvedObject.kind} ${involvedObject.name}`);
    return kinds.includes('Pod online') && kinds.includes('PersistentVolumeClaim online');
  });
  await cluster.delete('online');
});

it('a raw disk in use grows, and its container goes on', async () => {
  const { plain } = storage;
  await claim('raw', plain, '64Mi', 'Block');
  await cluster.apply(
    podManifest('raw', {
      containers: [
        {
          name: 'app',
          image: busybox,
          command: forever,
          volumeDevices: [{ name: 'data', devicePath: '/dev/data' }],
        },
      ],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'raw' } }],
    }),
  );
  await cluster.untilReady('raw');
  const sizeMi = async (): Promise<number> =>
    Number(await cluster.exec('raw', 'blockdev', '--getsize64', '/dev/data')) / mi;
  const life = container(await cluster.pod('raw')).containerID;
  expect(await sizeMi()).toBe(64);
  await grow('raw', plain, '96Mi');
  await nudge('raw');
  await untilWritten('raw', '96Mi');
  expect(await sizeMi()).toBe(96);
  expect(container(await cluster.pod('raw')).containerID).toBe(life);
  await cluster.delete('raw');
});

it('a volume that has grown before its pod starts has its size when the container starts', async () => {
  const { plain } = storage;
  await claim('offline', plain, '320Mi');
  await run('first', 'offline');
  await cluster.untilReady('first');
  await cluster.delete('first');
  await grow('offline', plain, '512Mi');
  await run('second', 'offline');
  await cluster.untilReady('second');
  expect(await seenMi('second')).toBeGreaterThan(400);
  await untilWritten('offline', '512Mi');
  await cluster.delete('second');
});

it('a node that is killed while the driver works goes on with it', async () => {
  const { plain } = storage;
  await claim('killed', plain, '320Mi');
  await run('killed', 'killed');
  await cluster.untilReady('killed');
  const life = container(await cluster.pod('killed')).containerID;
  plain.forget();
  plain.fail({ method: 'nodeExpandVolume', doesWork: true, times: 1 });
  await grow('killed', plain, '512Mi');
  await nudge('killed');
  await eventually('the driver is asked', async () => plain.log('nodeExpandVolume').length > 0);
  await cluster.node.kill9();
  plain.mend();
  expect((await claimOf('killed')).status?.allocatedResourceStatuses).toEqual({
    storage: 'NodeResizeInProgress',
  });
  await cluster.node.start();
  await untilWritten('killed', '512Mi');
  expect(await seenMi('killed')).toBeGreaterThan(400);
  expect(container(await cluster.pod('killed')).containerID).toBe(life);
  await cluster.delete('killed');
});

it('a size that the driver cannot do is given up, and a smaller one is done', async () => {
  const { plain } = storage;
  await claim('toomuch', plain, '320Mi');
  await run('toomuch', 'toomuch');
  await cluster.untilReady('toomuch');
  plain.fail({ method: 'nodeExpandVolume', code: 'OutOfRange', times: 1 });
  await grow('toomuch', plain, '640Mi');
  await nudge('toomuch');
  await eventually('it is given up', async () => {
    const { status } = await claimOf('toomuch');
    return status?.allocatedResourceStatuses?.storage === 'NodeResizeInfeasible';
  });
  const { status } = await claimOf('toomuch');
  expect(status?.conditions?.find(({ type }) => type === 'NodeResizeError')?.message).toContain('OutOfRange');
  await cluster.api.patch(
    resources.persistentVolumeClaims,
    { namespace, name: 'toomuch' },
    {
      type: 'merge',
      body: {
        status: {
          allocatedResources: { storage: '512Mi' },
          allocatedResourceStatuses: { storage: 'NodeResizePending' },
        },
      },
    },
    { subresource: 'status' },
  );
  await nudge('toomuch');
  await untilWritten('toomuch', '512Mi');
  expect(resizeConditions((await claimOf('toomuch')).status)).toEqual([]);
  await cluster.delete('toomuch');
});
