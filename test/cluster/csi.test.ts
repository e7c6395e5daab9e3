/** Volumes of a storage driver on a real control plane: registration, claims, attaching, and what the node reports. */
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Node } from '../../src/kube/index.js';
import { type CsiNode, resources, type VolumeAttachment } from '../../src/kube-client/index.js';
import type { NodePublishVolumeRequest } from '../../src/volumes/csi/gen/csi.js';
import { TestCsiDriver } from '../env/csi-driver.js';
import { busybox, type Cluster, eventually, forever, podManifest, startCluster } from './cluster.js';

let cluster: Cluster;
let plain: TestCsiDriver;
let attaching: TestCsiDriver;

beforeAll(async () => {
  cluster = await startCluster({ node: { config: { nodeStatusUpdateFrequency: '2s' } } });
  const { rootDir } = cluster.node;
  const dataDir = path.join(rootDir, '../csi-data');
  plain = new TestCsiDriver({
    rootDir,
    dataDir,
    name: 'p.test',
    topology: { 'p.test/zone': 'z1' },
    maxVolumes: 7,
  });
  attaching = new TestCsiDriver({ rootDir, dataDir, name: 'a.test' });
  await cluster.apply(
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name: 'p.test' },
      spec: {
        attachRequired: false,
        podInfoOnMount: true,
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
        tokenRequests: [{ audience: 'p' }],
      },
    },
    { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: 'a.test' }, spec: {} },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'csi', namespace: 'default' },
      stringData: { password: 'p1' },
    },
  );
  await plain.start();
  await attaching.start();
});
afterAll(async () => {
  await plain?.stop();
  await attaching?.stop();
  await cluster?.stop();
});

const node = (): Promise<Node> => cluster.api.get(resources.nodes, { name: cluster.node.name });
const csiNode = (): Promise<CsiNode> => cluster.api.get(resources.csiNodes, { name: cluster.node.name });
/** The API shows an empty list as null. */
const drivers = async (): Promise<CsiNode['spec']['drivers']> => (await csiNode()).spec.drivers ?? [];
const log = (driver: TestCsiDriver): string[] => driver.log().filter((call) => !call.startsWith('nodeGet'));

/** A claim that is bound to a volume of the driver by hand. */
async function claim(name: string, driver: TestCsiDriver, csi: object = {}): Promise<void> {
  await cluster.apply(
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `pv-${name}` },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: '',
        claimRef: { namespace: 'default', name },
        csi: { driver: driver.name, volumeHandle: `vol-${name}`, ...csi },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace: 'default' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: '',
        volumeName: `pv-${name}`,
        resources: { requests: { storage: '1Gi' } },
      },
    },
  );
}

const claimPod = (name: string, claimName: string) =>
  podManifest(name, {
    containers: [
      { name: 'app', image: busybox, command: forever, volumeMounts: [{ name: 'data', mountPath: '/data' }] },
    ],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
  });

describe('a driver', () => {
  it('is in the CSINode, and its topology in the labels of the node', async () => {
    await eventually('both are registered', async () => (await drivers()).length === 2);
    const { metadata, spec } = await csiNode();
    expect(spec.drivers.find(({ name }) => name === 'p.test')).toEqual({
      name: 'p.test',
      nodeID: 'node-1',
      topologyKeys: ['p.test/zone'],
      allocatable: { count: 7 },
    });
    const { metadata: ofNode } = await node();
    expect(metadata.ownerReferences?.[0]).toMatchObject({ kind: 'Node', uid: ofNode.uid });
    expect(ofNode.labels?.['p.test/zone']).toBe('z1');
    expect(JSON.parse(ofNode.annotations?.['csi.volume.kubernetes.io/nodeid'] ?? '')).toEqual({
      'a.test': 'node-1',
      'p.test': 'node-1',
    });
    expect(plain.told).toEqual([{ pluginRegistered: true, error: '' }]);
  });

  it('goes and comes back', async () => {
    await attaching.deregister();
    await eventually('it is gone', async () => (await drivers()).length === 1);
    // The annotation is taken off after the entry.
    await eventually(
      'only the other has an annotation',
      async () =>
        (await node()).metadata.annotations?.['csi.volume.kubernetes.io/nodeid'] === '{"p.test":"node-1"}',
    );
    await attaching.register();
    await eventually('it is back', async () => (await drivers()).length === 2);
  });
});

describe('a volume', () => {
  it('without attaching is read and written by pods, with secrets, tokens and the pod told to the driver', async () => {
    await claim('plain', plain, { nodePublishSecretRef: { name: 'csi', namespace: 'default' } });
    await cluster.apply(claimPod('plain', 'plain'));
    await cluster.untilReady('plain');
    await cluster.exec('plain', 'sh', '-c', 'echo hello > /data/file');
    const [request] = plain.requests<NodePublishVolumeRequest>('nodePublishVolume');
    expect(request?.secrets).toEqual({ password: 'p1' });
    expect(request?.volumeContext['csi.storage.k8s.io/pod.name']).toBe('plain');
    const tokens = JSON.parse(request?.volumeContext['csi.storage.k8s.io/serviceAccount.tokens'] ?? '{}');
    expect(tokens.p.token).toMatch(/^ey/);
    expect((await node()).status?.volumesInUse ?? []).toEqual([]);
    await cluster.delete('plain');
    await cluster.apply(claimPod('again', 'plain'));
    await cluster.untilReady('again');
    expect(await cluster.exec('again', 'cat', '/data/file')).toBe('hello\n');
    await cluster.delete('again');
    await eventually('it is unstaged', async () => log(plain).at(-1) === 'nodeUnstageVolume');
  });

  it('in the pod itself is published for the pod alone', async () => {
    await cluster.apply(
      podManifest('inline', {
        containers: [
          {
            name: 'app',
            image: busybox,
            command: forever,
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          },
        ],
        volumes: [{ name: 'data', csi: { driver: 'p.test' } }],
      }),
    );
    await cluster.untilReady('inline');
    await cluster.exec('inline', 'sh', '-c', 'echo x > /data/x');
    await cluster.delete('inline');
  });

  it('that must be attached waits for its attachment, and is in use until it is unstaged', async () => {
    const unique = 'kubernetes.io/csi/a.test^vol-disk';
    await claim('disk', attaching);
    await cluster.apply(claimPod('disk', 'disk'));
    let attachment: VolumeAttachment | undefined;
    await eventually('the cluster wants it attached', async () => {
      const { items } = await cluster.api.list(resources.volumeAttachments);
      attachment = items.find(({ spec }) => spec.attacher === 'a.test');
      return attachment !== undefined;
    });
    const name = attachment?.metadata.name ?? '';
    await eventually(
      'it is in use',
      async () => (await node()).status?.volumesInUse?.includes(unique) === true,
    );
    expect(log(attaching)).toEqual([]);
    // What an external attacher does.
    await cluster.api.patch(
      resources.volumeAttachments,
      { name },
      { type: 'merge', body: { status: { attached: true, attachmentMetadata: { device: '/dev/x' } } } },
      { subresource: 'status' },
    );
    await cluster.untilReady('disk');
    const [request] = attaching.requests<NodePublishVolumeRequest>('nodePublishVolume');
    expect(request?.publishContext).toEqual({ device: '/dev/x' });
    await cluster.exec('disk', 'sh', '-c', 'echo hello > /data/file');

    attaching.fail({ method: 'nodeUnstageVolume', code: 'Internal', times: 2 });
    await cluster.delete('disk');
    await eventually('it was tried', async () => log(attaching).includes('nodeUnstageVolume Internal'));
    expect((await node()).status?.volumesInUse).toEqual([unique]);
    await eventually(
      'it is not in use',
      async () => ((await node()).status?.volumesInUse ?? []).length === 0,
    );
    expect(log(attaching).at(-1)).toBe('nodeUnstageVolume');
    await eventually('the cluster detaches it', async () => {
      const { items } = await cluster.api.list(resources.volumeAttachments);
      return items.every(({ metadata }) => metadata.deletionTimestamp !== undefined);
    });
  });
});
