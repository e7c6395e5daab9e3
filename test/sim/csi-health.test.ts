/** The health of volumes and of storage, on a whole kubelet: what drivers are asked, and what the cluster is told. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { resolveFeatureGates } from '../../src/config/index.js';
import { resources } from '../../src/kube-client/index.js';
import {
  StorageHealth_ErrorType as StorageStatus,
  VolumeHealthStatus_HealthType as VolumeStatus,
} from '../../src/volumes/csi/gen/csi.js';
import { CsiClusterMachine, type CsiMember } from './csi-cluster-machine.js';
import { endNodes, nodeName, second } from './node.js';
import { rootDir } from './volume-node.js';

let cluster: CsiClusterMachine;
let agent: CsiMember;
beforeEach(() => {
  cluster = new CsiClusterMachine();
  cluster.driver.capabilities = [...cluster.driver.capabilities, 'GET_VOLUME_HEALTH', 'GET_STORAGE_HEALTH'];
});
afterEach(endNodes);

const kubeletWith = (isOn: boolean) => ({
  gates: resolveFeatureGates({ CSIVolumeHealth: isOn }).gates,
  config: { volumeStatsAggPeriod: 10 * second },
});

async function begin(isOn = true): Promise<void> {
  await cluster.begin({ attachRequired: false });
  await cluster.volume('disk', ['ReadWriteOnce']);
  agent = await cluster.start({
    kubelet: kubeletWith(isOn),
  });
  await cluster.on.create('web', {
    containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'data', mountPath: '/v' }] }],
    graceSeconds: 1,
    spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'disk' } }] },
  });
  await agent.member.untilReady('web');
}

const told = async () =>
  (await cluster.on.api.get(resources.pods, { namespace: 'default', name: 'web' })).status?.volumeHealth;
const storage = async () =>
  (await cluster.on.api.get(resources.csiNodes, { name: nodeName })).status?.storageHealth;
const asked = (method: string): number =>
  cluster.driver.calls.filter((call) => call.method === method).length;
const writes = (): number =>
  cluster.on.api.calls.filter(
    ({ verb, resource, subresource }) =>
      (verb === 'patch' && resource === 'pods' && subresource === 'status') ||
      (verb === 'update' && resource === 'csinodes'),
  ).length;
const rounds = (count: number): Promise<void> => agent.member.node.advance(count * 10 * second);
const bad = { status: VolumeStatus.INACCESSIBLE, reason: 'Path', message: 'the path is down' };
const down = { status: StorageStatus.STORAGE_UNREACHABLE, reason: 'Net', message: 'no route' };
const gauge = (): number | undefined =>
  agent.member.node.metric('csi_node_storage_health_status', {
    driver_name: cluster.driver.name,
    status: 'StorageUnreachable',
    reason: 'Net',
  });

it('the pod says what its driver says of a volume, and keeps that over other statuses', async () => {
  await begin();
  await rounds(2);
  expect(await told()).toBeUndefined();
  expect(cluster.driver.requests('nodeGetVolumeHealth')[0]).toMatchObject({
    volumeId: 'vol-disk',
    volumePublishPath: expect.stringMatching(/volumes\/kubernetes.io~csi\/pv-disk\/mount$/),
    stagingTargetPath: expect.stringContaining(`${rootDir}/plugins/kubernetes.io/csi/`),
  });
  cluster.driver.health.set('vol-disk', [bad]);
  await rounds(2);
  const conditions = [{ status: 'Inaccessible', reason: 'Path', message: 'the path is down' }];
  expect(await told()).toEqual([
    { name: 'data', healthConditions: conditions, lastTransitionTime: expect.any(String) },
  ]);
  const before = writes();
  cluster.driver.health.set('vol-disk', [{ ...bad, message: 'still down' }]);
  await rounds(3);
  expect(writes()).toBe(before);
  // Failures change nothing.
  cluster.driver.fail({
    method: 'nodeGetVolumeHealth',
    when: 'before',
    times: 2,
    effect: { kind: 'error', code: 'Internal' },
  });
  await rounds(2);
  expect(await told()).toMatchObject([{ healthConditions: conditions }]);
  expect(agent.member.node.recorded('csi.health')).toMatchObject([
    { pod: { namespace: 'default', name: 'web' } },
  ]);
  await agent.crash();
  agent = await cluster.start({
    kubelet: kubeletWith(true),
  });
  cluster.driver.health.clear();
  await rounds(6);
  expect(await told()).toMatchObject([{ name: 'data', healthConditions: [] }]);
});

it('the CSINode and a metric say what a driver says of its storage, until it is well again', async () => {
  await begin();
  cluster.driver.storageHealth = [down];
  await rounds(2);
  expect(await storage()).toEqual([
    {
      name: cluster.driver.name,
      healthConditions: [{ status: 'StorageUnreachable', reason: 'Net', message: 'no route' }],
    },
  ]);
  expect(gauge()).toBe(1);
  const before = writes();
  await rounds(3);
  expect(writes()).toBe(before);
  cluster.driver.storageHealth = [];
  await rounds(2);
  expect(await storage()).toEqual([]);
  expect(gauge()).toBeUndefined();
});

it('a driver that hangs is asked again in a later round, and holds up nobody', async () => {
  await begin();
  cluster.driver.fail({ method: 'nodeGetVolumeHealth', when: 'before', effect: { kind: 'hang' } });
  cluster.driver.storageHealth = [down];
  cluster.driver.health.set('vol-disk', [bad]);
  await rounds(2);
  expect(gauge()).toBe(1);
  await rounds(2);
  expect(await told()).toMatchObject([{ name: 'data' }]);
});

it('nobody is asked without the feature gate', async () => {
  await begin(false);
  await rounds(4);
  expect([asked('nodeGetVolumeHealth'), asked('nodeGetStorageHealth')]).toEqual([0, 0]);
});
