/** A cluster with storage drivers that do real work, StatefulSets with claims, and what their pods wrote. */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { resources } from '../../src/kube-client/index.js';
import { CsiDriverProcess } from '../env/csi-driver/driver-process.js';
import { mountsBelow, unmountBelow } from '../env/mounts.js';
import { busybox, type Cluster, container, eventually, startCluster, thenForever } from './cluster.js';
import { startCsiControllers, storageClass } from './csi-controllers.js';

/** Its volumes are attached by controllers; ext4. */
export const attachingName = 'disk.test';
/** Its volumes need no attachment; xfs. */
export const plainName = 'plain.test';

export interface StorageCluster {
  readonly cluster: Cluster;
  readonly disk: CsiDriverProcess;
  readonly plain: CsiDriverProcess;
}

export async function startStorageCluster(): Promise<StorageCluster> {
  const cluster = await startCluster({
    node: { config: { nodeStatusUpdateFrequency: '1s', volumeStatsAggPeriod: '1s' } },
  });
  const { cleanups } = cluster;
  try {
    const { rootDir } = cluster.node;
    const driver = (name: string, options: Partial<ConstructorParameters<typeof CsiDriverProcess>[0]>) =>
      new CsiDriverProcess({
        cleanups,
        rootDir,
        dataDir: path.join(rootDir, '../volumes', name),
        name,
        ...options,
      });
    const disk = driver(attachingName, { attaches: true });
    const plain = driver(plainName, { fsType: 'xfs' });
    cleanups.defer('mounts of volumes', () => unmountBelow(rootDir));
    await cluster.apply(
      ...[disk, plain].map(({ name }) => storageClass(name)),
      ...[disk, plain].map(({ name }) => ({
        apiVersion: 'storage.k8s.io/v1',
        kind: 'CSIDriver',
        metadata: { name },
        spec: { attachRequired: name === attachingName },
      })),
    );
    await Promise.all([disk.start(), plain.start()]);
    startCsiControllers(cluster.api, [disk, plain], cleanups);
    return { cluster, disk, plain };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** Claims go with the set. Each pod writes a line to its volume ten times a second. */
export function statefulSet(name: string, driver: CsiDriverProcess, replicas = 1): object {
  const script =
    'while true; do date +%s >> /data/ticks; sleep 0.1; done & while [ ! -e /data/ticks ]; do sleep 0.1; done';
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name, namespace: 'default' },
    spec: {
      serviceName: name,
      replicas,
      podManagementPolicy: 'Parallel',
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          terminationGracePeriodSeconds: 2,
          securityContext: { fsGroup: 1234 },
          containers: [
            {
              name: 'app',
              image: busybox,
              command: thenForever(script),
              env: [{ name: 'VERSION', value: '1' }],
              volumeMounts: [{ name: 'data', mountPath: '/data' }],
            },
          ],
        },
      },
      volumeClaimTemplates: [
        { metadata: { name: 'data' }, spec: claimSpec(driver, driver.name === plainName ? '320Mi' : '64Mi') },
      ],
    },
  };
}

export function claimSpec(driver: CsiDriverProcess, storage: string): object {
  return {
    accessModes: ['ReadWriteOnce'],
    storageClassName: driver.name,
    resources: { requests: { storage } },
  };
}

/** Puts new content into the volume of a pod, and returns what tells it from any other. */
export async function write(cluster: Cluster, pod: string): Promise<string> {
  const seed = randomBytes(16).toString('hex');
  const fill = `yes ${seed} | head -c 3000000 > /data/file; sync; sha256sum /data/file`;
  return (await cluster.exec(pod, 'sh', '-c', fill)).trim();
}

export async function read(cluster: Cluster, pod: string): Promise<string> {
  return (await cluster.exec(pod, 'sha256sum', '/data/file')).trim();
}

/** The life of a pod's container: another one has another. */
export async function lifeOf(cluster: Cluster, pod: string): Promise<string> {
  return container(await cluster.pod(pod)).containerID ?? '';
}

/** Its process still writes to its volume. */
export async function untilWrites(cluster: Cluster, pod: string): Promise<void> {
  const count = async (): Promise<number> =>
    Number(await cluster.exec(pod, 'sh', '-c', 'wc -l < /data/ticks'));
  const before = await count();
  await eventually(`${pod} writes`, async () => (await count()) > before);
}

/** Deletes the set with its claims and waits until nothing of them is left on the node and in the driver. */
export async function removeSet(cluster: Cluster, name: string): Promise<void> {
  await cluster.kubectl('delete', 'statefulset', name, '--wait=false');
  await eventually(`pods of ${name} are gone`, async () => (await cluster.pods(`app=${name}`)).length === 0);
}

/** What volumes leave behind on the node, in the cluster and in the drivers: nothing, at the end. */
export async function leftovers({ cluster, disk, plain }: StorageCluster): Promise<string[]> {
  const { rootDir } = cluster.node;
  const claims = (await cluster.api.list(resources.persistentVolumeClaims)).items;
  const volumes = (await cluster.api.list(resources.persistentVolumes)).items;
  const attachments = (await cluster.api.list(resources.volumeAttachments)).items;
  const node = await cluster.api.get(resources.nodes, { name: cluster.node.name });
  const names = (dir: string): string[] =>
    existsSync(dir) ? readdirSync(dir).filter((name) => !name.startsWith('.')) : [];
  const staged = path.join(rootDir, 'plugins/kubernetes.io/csi');
  return [
    ...[...claims, ...volumes, ...attachments].map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    ...(node.status?.volumesInUse ?? []).map((name) => `in use ${name}`),
    // The kubelet binds its own directory onto itself.
    ...mountsBelow(rootDir)
      .filter(({ mountPoint }) => mountPoint !== rootDir)
      .map(({ mountPoint }) => `mount ${mountPoint}`),
    ...[disk, plain].flatMap((driver) => driver.loopDevices()).map(({ path: device }) => `device ${device}`),
    ...[disk, plain].flatMap(({ dataDir }) => names(dataDir)).map((name) => `volume ${name}`),
    ...names(path.join(rootDir, 'pods')).map((name) => `directory of pod ${name}`),
    ...names(staged).flatMap((driver) => names(path.join(staged, driver)).map((name) => `staged ${name}`)),
  ];
}
