import { afterEach, describe, expect, it } from 'vitest';
import type { StatefulSet } from '../../kube/index.js';
import { resources } from '../../kube-client/index.js';
import { TestCluster, type TestClusterOptions, testTemplate } from '../test-cluster.js';

let cluster: TestCluster;
afterEach(() => cluster.stop());

const ref = { namespace: 'default', name: 'db' };
const setOf = (replicas: number, more: Partial<StatefulSet['spec']> = {}): StatefulSet => ({
  metadata: { name: 'db', namespace: 'default', generation: 1 },
  spec: {
    replicas,
    serviceName: 'db',
    selector: { matchLabels: { app: 'db' } },
    template: testTemplate('db'),
    ...more,
  },
});
const start = async (set: StatefulSet, options: TestClusterOptions = {}): Promise<void> => {
  cluster = await TestCluster.started(options);
  await cluster.api.create(resources.statefulSets, set);
  await cluster.advance(3000);
};
const patch = (spec: object) =>
  cluster.api.patch(resources.statefulSets, ref, { type: 'merge', body: { spec } });
const setImage = (image: string) => patch({ template: { spec: { containers: [{ name: 'main', image }] } } });
const pods = async (): Promise<string[]> =>
  (await cluster.list(resources.pods))
    .map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]!.image}`)
    .sort();
const status = async (): Promise<StatefulSet['status']> =>
  (await cluster.get(resources.statefulSets, 'db')).status;

describe('the StatefulSet controller', () => {
  it('makes its pods one after another, each with its identity', async () => {
    await start(setOf(3, { ordinals: { start: 5 } }), { startMs: 1000 });
    expect((await pods()).length).toBeLessThan(4);
    await cluster.advance(5000);
    expect(await pods()).toEqual(['db-5 image:1', 'db-6 image:1', 'db-7 image:1']);
    const pod = await cluster.get(resources.pods, 'db-6');
    const current = (await status())?.currentRevision;
    expect(pod.metadata.labels).toMatchObject({
      'statefulset.kubernetes.io/pod-name': 'db-6',
      'apps.kubernetes.io/pod-index': '6',
      'controller-revision-hash': current,
    });
    expect([pod.spec.hostname, pod.spec.subdomain]).toEqual(['db-6', 'db']);
    expect(await status()).toMatchObject({
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
    });
    expect(await cluster.events('db')).toContainEqual(
      'SuccessfulCreate: create Pod db-5 in StatefulSet db successful',
    );
  });

  it('waits for a pod that is not ready, or does not when pods are parallel', async () => {
    await start(setOf(2), { fate: () => 'running' });
    expect(await pods()).toEqual(['db-0 image:1']);
    await cluster.stop();
    await start(setOf(2, { podManagementPolicy: 'Parallel' }), { fate: () => 'running' });
    expect(await pods()).toHaveLength(2);
  });

  it('scales down from the last', async () => {
    await start(setOf(3), { stopMs: 2000 });
    await patch({ replicas: 1 });
    await cluster.advance(1000);
    expect(await pods()).toHaveLength(3);
    await cluster.advance(1500);
    expect(await pods()).toEqual(['db-0 image:1', 'db-1 image:1']);
    await cluster.advance(5000);
    expect(await pods()).toEqual(['db-0 image:1']);
  });

  it('replaces its pods from the last down to the partition', async () => {
    await start(setOf(3, { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } }));
    const before = (await status())?.currentRevision;
    await setImage('image:2');
    await cluster.advance(5000);
    expect(await pods()).toEqual(['db-0 image:1', 'db-1 image:2', 'db-2 image:2']);
    expect(await status()).toMatchObject({ currentRevision: before, currentReplicas: 1, updatedReplicas: 2 });
    await cluster.api.delete(resources.pods, { namespace: 'default', name: 'db-0' });
    await cluster.advance(2000);
    expect((await pods())[0]).toBe('db-0 image:1');
    await patch({ updateStrategy: { rollingUpdate: { partition: 0 } } });
    await cluster.advance(5000);
    expect((await pods())[0]).toBe('db-0 image:2');
    const done = await status();
    expect(done?.currentRevision).toBe(done?.updateRevision);
    expect(done).toMatchObject({ currentReplicas: 3, updatedReplicas: 3 });
  });

  it('stops a rollout at a pod that does not become ready, and goes on with another template', async () => {
    await start(setOf(2), {
      fate: (pod) => (pod.spec.containers[0]!.image === 'image:bad' ? 'running' : 'ready'),
    });
    await setImage('image:bad');
    await cluster.advance(5000);
    expect(await pods()).toEqual(['db-0 image:1', 'db-1 image:bad']);
    await setImage('image:3');
    await cluster.advance(5000);
    expect(await pods()).toEqual(['db-0 image:3', 'db-1 image:3']);
  });

  it('replaces only what is deleted, when told so', async () => {
    await start(setOf(2, { updateStrategy: { type: 'OnDelete' } }));
    await setImage('image:2');
    await cluster.advance(2000);
    await cluster.api.delete(resources.pods, { namespace: 'default', name: 'db-1' });
    await cluster.advance(2000);
    expect(await pods()).toEqual(['db-0 image:1', 'db-1 image:2']);
  });

  it('makes a pod that failed anew under its name', async () => {
    let left = 1;
    await start(setOf(1), { fate: () => (left-- > 0 ? 'failed' : 'ready') });
    await cluster.advance(2000);
    expect((await cluster.list(resources.pods)).map(({ status: state }) => state?.phase)).toEqual([
      'Running',
    ]);
  });

  describe('with claims', () => {
    const claims = {
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'] } }],
    };
    const parallel = { ...claims, podManagementPolicy: 'Parallel' as const };
    const names = async (): Promise<string[]> =>
      (await cluster.list(resources.persistentVolumeClaims))
        .map(({ metadata }) => metadata.name ?? '')
        .sort();

    it('makes a claim for each pod and keeps it', async () => {
      await start(setOf(2, parallel));
      expect(await names()).toEqual(['data-db-0', 'data-db-1']);
      const pod = await cluster.get(resources.pods, 'db-1');
      expect(pod.spec.volumes).toContainEqual({
        name: 'data',
        persistentVolumeClaim: { claimName: 'data-db-1', readOnly: false },
      });
      await patch({ replicas: 1 });
      await cluster.advance(3000);
      await cluster.api.delete(resources.statefulSets, ref);
      await cluster.advance(3000);
      expect(await names()).toEqual(['data-db-0', 'data-db-1']);
    });

    it('gives claims up with the pod and with itself, when told so', async () => {
      const policy = { whenDeleted: 'Delete', whenScaled: 'Delete' } as const;
      await start(setOf(2, { ...parallel, persistentVolumeClaimRetentionPolicy: policy }));
      await patch({ replicas: 1 });
      await cluster.advance(5000);
      expect(await names()).toEqual(['data-db-0']);
      await cluster.api.delete(resources.statefulSets, ref);
      await cluster.advance(5000);
      expect(await names()).toEqual([]);
    });
  });
});
