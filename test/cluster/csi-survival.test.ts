/** StatefulSets keep what they wrote whoever is killed: the agent, the storage driver, or the whole machine. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { controlPlaneProgram } from '../env/control-plane-binaries.js';
import type { CsiMethod } from '../env/csi-driver/calls.js';
import type { CsiDriverProcess } from '../env/csi-driver/driver-process.js';
import { detachLoopDevices } from '../env/csi-driver/loop-devices.js';
import { mountsBelow, unmountBelow } from '../env/mounts.js';
import { type Cluster, eventually, isReady, podManifest } from './cluster.js';
import {
  claimSpec,
  leftovers,
  lifeOf,
  read,
  removeSet,
  type StorageCluster,
  startStorageCluster,
  statefulSet,
  untilWrites,
  write,
} from './csi-storage.js';

let storage: StorageCluster;
let cluster: Cluster;
let disk: CsiDriverProcess;
let plain: CsiDriverProcess;

beforeAll(async () => {
  storage = await startStorageCluster();
  ({ cluster, disk, plain } = storage);
});
afterEach(() => {
  for (const driver of [disk, plain]) {
    driver?.mend();
    driver?.forget();
  }
});
afterAll(() => cluster?.stop());

const died = (driver: CsiDriverProcess): Promise<void> =>
  eventually(`${driver.name} died`, async () => !driver.isRunning);
const underWay = (driver: CsiDriverProcess, method: CsiMethod): Promise<void> =>
  eventually(`${method} is under way`, async () => driver.log(method).length > 0);
const nothingLeft = async (): Promise<void> => {
  let found: string[] = [];
  await eventually('nothing is left', async () => {
    found = await leftovers(storage);
    return found.length === 0;
  }).catch(() => expect(found).toEqual([]));
};

it('a set keeps its volumes through a rolling update', async () => {
  await cluster.apply(statefulSet('rolled', disk, 2));
  const pods = ['rolled-0', 'rolled-1'];
  await Promise.all(pods.map((pod) => cluster.untilReady(pod)));
  const sums = await Promise.all(pods.map((pod) => write(cluster, pod)));
  const lives = await Promise.all(pods.map((pod) => lifeOf(cluster, pod)));
  await cluster.kubectl('set', 'env', 'statefulset/rolled', 'VERSION=2');
  await cluster.kubectl('rollout', 'status', 'statefulset/rolled', '--timeout=120s');
  expect(await Promise.all(pods.map((pod) => read(cluster, pod)))).toEqual(sums);
  expect(await lifeOf(cluster, 'rolled-0')).not.toBe(lives[0]);
  await removeSet(cluster, 'rolled');
  await nothingLeft();
});

it('an agent that is killed while volumes are staged, and while they are used, loses nothing', async () => {
  disk.fail({ method: 'nodeStageVolume', delayMs: 1_000 });
  await cluster.apply(statefulSet('agent', disk));
  await underWay(disk, 'nodeStageVolume');
  await cluster.node.kill9();
  await cluster.node.start();
  await cluster.untilReady('agent-0');
  const [sum, life] = [await write(cluster, 'agent-0'), await lifeOf(cluster, 'agent-0')];
  disk.forget();
  await cluster.node.kill9();
  await cluster.node.start();
  await eventually('the volume is published anew', async () => disk.log('nodePublishVolume').length > 0);
  await untilWrites(cluster, 'agent-0');
  expect(await lifeOf(cluster, 'agent-0')).toBe(life);
  expect(await read(cluster, 'agent-0')).toBe(sum);
  expect(disk.log('nodeUnpublishVolume', 'nodeUnstageVolume')).toEqual([]);
  // The pod goes while nobody looks.
  await cluster.node.kill9();
  await removeSetWhileDown('agent');
  await cluster.node.start();
  await nothingLeft();
});

/** The API forgets the pod, as nobody waits for its end. */
async function removeSetWhileDown(name: string): Promise<void> {
  await cluster.kubectl('delete', 'statefulset', name, '--wait=false');
  await cluster.kubectl('delete', 'pod', `${name}-0`, '--force', '--grace-period=0');
}

it('a driver that dies in the middle of its work, and while its volumes are used, loses nothing', async () => {
  disk.fail({ method: 'nodeStageVolume', dies: true, times: 1 });
  disk.fail({ method: 'nodeStageVolume', dies: true, doesWork: true, times: 1 });
  disk.fail({ method: 'nodePublishVolume', dies: true, doesWork: true, times: 1 });
  await cluster.apply(statefulSet('dying', disk));
  for (let deaths = 0; deaths < 3; deaths++) {
    await died(disk);
    await disk.start();
  }
  await cluster.untilReady('dying-0');
  const [sum, life] = [await write(cluster, 'dying-0'), await lifeOf(cluster, 'dying-0')];
  await disk.kill9();
  await untilWrites(cluster, 'dying-0');
  await disk.start();
  expect(await read(cluster, 'dying-0')).toBe(sum);
  expect(await lifeOf(cluster, 'dying-0')).toBe(life);
  disk.fail({ method: 'nodeUnpublishVolume', dies: true, doesWork: true, times: 1 });
  disk.fail({ method: 'nodeUnstageVolume', dies: true, doesWork: true, times: 1 });
  await cluster.kubectl('delete', 'statefulset', 'dying', '--wait=false');
  for (let deaths = 0; deaths < 2; deaths++) {
    await died(disk);
    await disk.start();
  }
  await nothingLeft();
});

it('a pod waits for a driver that comes late, and goes when a driver that left is back', async () => {
  await cluster.apply(statefulSet('late', plain));
  await cluster.untilReady('late-0');
  const sum = await write(cluster, 'late-0');
  await cluster.kubectl('scale', 'statefulset/late', '--replicas=0');
  await cluster.untilGone('late-0');
  await plain.stop();
  await cluster.kubectl('scale', 'statefulset/late', '--replicas=1');
  await cluster.untilEvent('late-0', 'FailedMount', ({ message = '' }) =>
    message.includes('driver name plain.test not found in the list of registered CSI drivers'),
  );
  await plain.start();
  await cluster.untilReady('late-0');
  expect(await read(cluster, 'late-0')).toBe(sum);

  await plain.stop();
  const before = (await cluster.pod('late-0')).metadata.uid;
  await cluster.kubectl('delete', 'pod', 'late-0', '--wait=false');
  await eventually('its containers ended', async () => (await cluster.running('late-0')).length === 0);
  expect((await cluster.pod('late-0')).metadata.uid).toBe(before);
  expect(mountsBelow(cluster.node.rootDir).some(({ mountPoint }) => mountPoint.includes(before))).toBe(true);
  await plain.start();
  await cluster.untilPod('late-0', 'is a new one', (pod) => pod.metadata.uid !== before && isReady(pod));
  expect(await read(cluster, 'late-0')).toBe(sum);

  await plain.stop();
  await cluster.node.restart();
  await cluster.kubectl('delete', 'statefulset', 'late', '--wait=false');
  await plain.start();
  await nothingLeft();
});

it('a pod has a volume of its own, made for it by the cluster and gone with it', async () => {
  const ephemeral = { volumeClaimTemplate: { spec: claimSpec(disk, '64Mi') } };
  const { spec } = podManifest('own');
  await cluster.apply(
    podManifest('own', {
      containers: spec.containers.map((app) => ({
        ...app,
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      })),
      volumes: [{ name: 'data', ephemeral }],
    }),
  );
  await cluster.untilReady('own');
  const sum = await write(cluster, 'own');
  expect(await read(cluster, 'own')).toBe(sum);
  await cluster.delete('own');
  await nothingLeft();
});

it('sets are back with their data after the machine went down without a word', {
  timeout: 300_000,
}, async () => {
  await cluster.apply(statefulSet('disks', disk), statefulSet('plains', plain));
  const pods = ['disks-0', 'plains-0'];
  await Promise.all(pods.map((pod) => cluster.untilReady(pod)));
  const sums = await Promise.all(pods.map((pod) => write(cluster, pod)));
  const lives = await Promise.all(pods.map((pod) => lifeOf(cluster, pod)));
  await cluster.node.kill9();
  await disk.kill9();
  await plain.kill9();
  await cluster.node.containerd.wipeState();
  // A service manager makes the cgroup above the pods at each boot.
  cluster.node.writeFiles(cluster.plane);
  await unmountBelow(cluster.node.rootDir);
  for (const { backingFile } of [...disk.loopDevices(), ...plain.loopDevices()]) {
    await detachLoopDevices(backingFile);
  }
  expect([...disk.loopDevices(), ...plain.loopDevices()]).toEqual([]);
  await cluster.node.start();
  await disk.start();
  await plain.start();
  for (const [index, pod] of pods.entries()) {
    await eventually(`${pod} runs anew`, async () => {
      const found = await cluster.pod(pod);
      return isReady(found) && (await lifeOf(cluster, pod)) !== lives[index];
    });
  }
  expect(await Promise.all(pods.map((pod) => read(cluster, pod)))).toEqual(sums);
  await removeSet(cluster, 'disks');
  await removeSet(cluster, 'plains');
  await nothingLeft();
});

/** On a machine that has no other kubelet it is built first. */
it('sets run on when the node is given to another kubelet, and back', { timeout: 1_800_000 }, async () => {
  const reference = await controlPlaneProgram('kubelet');
  await cluster.apply(statefulSet('shared', disk), statefulSet('handed', plain));
  const pods = ['shared-0', 'handed-0'];
  await Promise.all(pods.map((pod) => cluster.untilReady(pod)));
  const sums = await Promise.all(pods.map((pod) => write(cluster, pod)));
  const lives = await Promise.all(pods.map((pod) => lifeOf(cluster, pod)));
  for (const kubelet of [reference, undefined]) {
    for (const driver of [disk, plain]) driver.forget();
    await cluster.node.switchTo(kubelet);
    await cluster.node.start();
    for (const driver of [disk, plain]) {
      await eventually(
        `${driver.name} publishes anew`,
        async () => driver.log('nodePublishVolume').length > 0,
      );
      expect(driver.log('nodeUnpublishVolume', 'nodeUnstageVolume')).toEqual([]);
    }
    await Promise.all(pods.map((pod) => untilWrites(cluster, pod)));
    expect(await Promise.all(pods.map((pod) => lifeOf(cluster, pod)))).toEqual(lives);
    expect(await Promise.all(pods.map((pod) => read(cluster, pod)))).toEqual(sums);
    // The pod of one set is started anew by whoever has the node now.
    await cluster.kubectl('delete', 'pod', 'handed-0');
    await cluster.untilPod('handed-0', 'is ready', isReady);
    lives[1] = await lifeOf(cluster, 'handed-0');
    expect(await read(cluster, 'handed-0')).toBe(sums[1]);
  }
  await removeSet(cluster, 'shared');
  await removeSet(cluster, 'handed');
  await nothingLeft();
});
