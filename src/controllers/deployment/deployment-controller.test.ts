import { afterEach, describe, expect, it } from 'vitest';
import type { Deployment, Pod } from '../../kube/index.js';
import { resources } from '../../kube-client/index.js';
import { TestCluster, type TestClusterOptions, testDeployment } from '../test-cluster.js';

let cluster: TestCluster;
afterEach(() => cluster.stop());

const ref = { namespace: 'default', name: 'web' };
const start = async (deployment: Deployment, options: TestClusterOptions = {}): Promise<void> => {
  cluster = await TestCluster.started(options);
  await cluster.api.create(resources.deployments, deployment);
  await cluster.advance(2000);
};
const patch = (body: object): Promise<Deployment> =>
  cluster.api.patch(resources.deployments, ref, { type: 'merge', body });
const setImage = (image: string): Promise<Deployment> =>
  patch({ spec: { template: { spec: { containers: [{ name: 'main', image }] } } } });
const status = async (): Promise<NonNullable<Deployment['status']>> =>
  (await cluster.get(resources.deployments, 'web')).status ?? {};
const progress = async (): Promise<string> => {
  const found = (await status()).conditions?.find(({ type }) => type === 'Progressing');
  return `${found?.status} ${found?.reason}`;
};
const images = async (): Promise<string[]> =>
  (await cluster.list(resources.pods))
    .filter((pod) => pod.metadata.deletionTimestamp === undefined)
    .map(({ spec }) => spec.containers[0]!.image ?? '')
    .sort();
const sizes = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await cluster.list(resources.replicaSets)).map((set) => [
      `${set.spec.template?.spec.containers[0]?.image} r${set.metadata.annotations?.['deployment.kubernetes.io/revision']}`,
      set.spec.replicas ?? 1,
    ]),
  );

describe('the Deployment controller', () => {
  it('makes a ReplicaSet of its template, and is complete when its pods are available', async () => {
    await start(testDeployment('web', 3));
    const [set] = await cluster.list(resources.replicaSets);
    const hash = set!.metadata.labels?.['pod-template-hash'];
    expect(set!.metadata.name).toBe(`web-${hash}`);
    expect(set!.spec.selector.matchLabels).toEqual({ app: 'web', 'pod-template-hash': hash });
    expect(await status()).toMatchObject({
      observedGeneration: 1,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      conditions: [
        { type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable' },
        { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' },
      ],
    });
    expect((await cluster.get(resources.deployments, 'web')).metadata.annotations).toMatchObject({
      'deployment.kubernetes.io/revision': '1',
    });
    expect(await cluster.events('web')).toEqual([
      `ScalingReplicaSet: Scaled up replica set web-${hash} from 0 to 3`,
    ]);
  });

  it('replaces its pods by rolling, with never too many and never too few', async () => {
    const seen = { most: 0, fewest: 99 };
    await start(testDeployment('web', 4));
    await setImage('image:2');
    for (let turn = 0; turn < 40; turn++) {
      const pods = await cluster.list(resources.pods);
      const active = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
      const ready = active.filter((pod) =>
        pod.status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
      );
      seen.most = Math.max(seen.most, active.length);
      seen.fewest = Math.min(seen.fewest, ready.length);
      await cluster.advance(50);
    }
    expect(seen).toEqual({ most: 5, fewest: 3 });
    expect(await images()).toEqual(Array(4).fill('image:2'));
    expect(await sizes()).toEqual({ 'image:1 r1': 0, 'image:2 r2': 4 });
    expect(await progress()).toBe('True NewReplicaSetAvailable');
  });

  it('rolls back when its template becomes an older one, with a new revision', async () => {
    await start(testDeployment('web', 2));
    await setImage('image:2');
    await cluster.advance(3000);
    await setImage('image:1');
    await cluster.advance(3000);
    expect(await images()).toEqual(['image:1', 'image:1']);
    expect(await sizes()).toEqual({ 'image:1 r3': 2, 'image:2 r2': 0 });
    const [first] = (await cluster.list(resources.replicaSets)).filter(({ spec }) => spec.replicas === 2);
    expect(first!.metadata.annotations?.['deployment.kubernetes.io/revision-history']).toBe('1');
  });

  it('recreates: the last old pod is gone before the first new one comes', async () => {
    const deployment = testDeployment('web', 2);
    await start(
      { ...deployment, spec: { ...deployment.spec, strategy: { type: 'Recreate' } } },
      { stopMs: 5000 },
    );
    await setImage('image:2');
    await cluster.advance(4000);
    expect((await cluster.list(resources.pods)).map((pod: Pod) => pod.spec.containers[0]!.image)).toEqual([
      'image:1',
      'image:1',
    ]);
    await cluster.advance(5000);
    expect(await images()).toEqual(['image:2', 'image:2']);
    expect(await progress()).toBe('True NewReplicaSetAvailable');
  });

  it('reports a rollout that does not move before its deadline', async () => {
    const deployment = testDeployment('web', 2);
    await start(
      { ...deployment, spec: { ...deployment.spec, progressDeadlineSeconds: 60 } },
      { fate: (pod) => (pod.spec.containers[0]!.image === 'image:bad' ? 'running' : 'ready') },
    );
    await setImage('image:bad');
    await cluster.advance(30_000);
    expect(await progress()).toBe('True ReplicaSetUpdated');
    await cluster.advance(40_000);
    expect(await progress()).toBe('False ProgressDeadlineExceeded');
    expect((await status()).availableReplicas).toBe(2);
    await setImage('image:1');
    await cluster.advance(5000);
    expect(await progress()).toBe('True NewReplicaSetAvailable');
  });

  it('does nothing new while it is paused, but follows its size', async () => {
    await start(testDeployment('web', 2));
    await patch({ spec: { paused: true } });
    await setImage('image:2');
    await cluster.advance(2000);
    expect(await sizes()).toEqual({ 'image:1 r1': 2 });
    expect(await progress()).toBe('Unknown DeploymentPaused');
    await patch({ spec: { replicas: 3 } });
    await cluster.advance(2000);
    expect(await sizes()).toEqual({ 'image:1 r1': 3 });
    await patch({ spec: { paused: false } });
    await cluster.advance(5000);
    expect(await sizes()).toEqual({ 'image:1 r1': 0, 'image:2 r2': 3 });
    expect(await progress()).toBe('True NewReplicaSetAvailable');
  });

  it('keeps only the history that it is told to keep', async () => {
    const deployment = testDeployment('web', 1);
    await start({ ...deployment, spec: { ...deployment.spec, revisionHistoryLimit: 1 } });
    for (const image of ['image:2', 'image:3', 'image:4']) {
      await setImage(image);
      await cluster.advance(3000);
    }
    expect(await sizes()).toEqual({ 'image:3 r3': 0, 'image:4 r4': 1 });
  });

  it('scales both sides of a rollout that is under way', async () => {
    await start(testDeployment('web', 4), {
      fate: (pod) => (pod.spec.containers[0]!.image === 'image:2' ? 'running' : 'ready'),
    });
    await setImage('image:2');
    await cluster.advance(2000);
    expect(await sizes()).toEqual({ 'image:1 r1': 3, 'image:2 r2': 2 });
    await patch({ spec: { replicas: 8 } });
    await cluster.advance(2000);
    expect(await sizes()).toEqual({ 'image:1 r1': 6, 'image:2 r2': 4 });
  });

  it('scales to nothing and back', async () => {
    await start(testDeployment('web', 2));
    await patch({ spec: { replicas: 0 } });
    await cluster.advance(2000);
    expect(await images()).toEqual([]);
    expect(await status()).toMatchObject({ replicas: 0, availableReplicas: 0 });
    await patch({ spec: { replicas: 1 } });
    await cluster.advance(2000);
    expect(await images()).toEqual(['image:1']);
  });

  it('uses another name when a foreign ReplicaSet has that of its hash', async () => {
    await start(testDeployment('web', 1));
    const [made] = await cluster.list(resources.replicaSets);
    await cluster.stop();
    cluster = await TestCluster.started();
    await cluster.api.create(resources.replicaSets, {
      metadata: { name: made!.metadata.name ?? '', namespace: 'default' },
      spec: { replicas: 0, selector: { matchLabels: { app: 'other' } } },
    });
    await cluster.api.create(resources.deployments, testDeployment('web', 1));
    await cluster.advance(2000);
    expect(await images()).toEqual(['image:1']);
    expect((await status()).collisionCount).toBe(1);
  });
});
