import { afterEach, describe, expect, it } from 'vitest';
import type { ReplicaSet } from '../../kube/index.js';
import { ApiError, resources } from '../../kube-client/index.js';
import { TestCluster, type TestClusterOptions, testTemplate } from '../test-cluster.js';

let cluster: TestCluster;
afterEach(() => cluster.stop());

const start = async (options: TestClusterOptions = {}): Promise<void> => {
  cluster = await TestCluster.started(options);
};
const set = (replicas: number, more: Partial<ReplicaSet['spec']> = {}): ReplicaSet => ({
  metadata: { name: 'web', namespace: 'default', generation: 1 },
  spec: { replicas, selector: { matchLabels: { app: 'web' } }, template: testTemplate('web'), ...more },
});

describe('the ReplicaSet controller', () => {
  it('makes pods, reports them ready, and tells of each', async () => {
    await start();
    await cluster.api.create(resources.replicaSets, set(3));
    await cluster.advance(1000);
    const pods = await cluster.list(resources.pods);
    expect(pods).toHaveLength(3);
    for (const { metadata } of pods)
      expect(metadata.ownerReferences).toMatchObject([
        { kind: 'ReplicaSet', name: 'web', controller: true, blockOwnerDeletion: true },
      ]);
    expect((await cluster.get(resources.replicaSets, 'web')).status).toMatchObject({
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      fullyLabeledReplicas: 3,
      observedGeneration: 1,
    });
    expect((await cluster.events('web')).sort()).toEqual(
      pods.map(({ metadata }) => `SuccessfulCreate: Created pod: ${metadata.name}`).sort(),
    );
  });

  it('replaces a pod that was deleted or has failed', async () => {
    await start();
    await cluster.api.create(resources.replicaSets, set(2));
    await cluster.advance(1000);
    const [first, second] = await cluster.list(resources.pods);
    await cluster.api.delete(resources.pods, first!.metadata);
    await cluster.setPod(second!, 'failed');
    await cluster.advance(1000);
    const pods = await cluster.list(resources.pods);
    expect(pods.filter(({ status }) => status?.phase === 'Running')).toHaveLength(2);
    expect(pods.map(({ metadata }) => metadata.name)).not.toContain(first!.metadata.name);
  });

  it('scales down, the pods that are not ready first', async () => {
    await start({ fate: () => 'running' });
    await cluster.api.create(resources.replicaSets, set(3));
    await cluster.advance(1000);
    const [kept] = await cluster.list(resources.pods);
    await cluster.setPod(kept!, 'ready');
    await cluster.api.patch(
      resources.replicaSets,
      { namespace: 'default', name: 'web' },
      { type: 'merge', body: { spec: { replicas: 1 } } },
    );
    await cluster.advance(1000);
    expect((await cluster.list(resources.pods)).map(({ metadata }) => metadata.name)).toEqual([
      kept!.metadata.name,
    ]);
    expect(await cluster.events('web')).toContainEqual(
      expect.stringMatching(/^SuccessfulDelete: Deleted pod: /),
    );
  });

  it('creates nothing twice though its copy of the pods stands still', async () => {
    await start();
    const broken = {
      resource: resources.pods,
      times: 1000,
      fault: { kind: 'delay', delayMs: 30_000 },
    } as const;
    const mends = [
      cluster.api.faults.add({ ...broken, verb: 'watch' }),
      cluster.api.faults.add({ ...broken, verb: 'list' }),
    ];
    cluster.api.cutWatches(resources.pods);
    await cluster.api.create(resources.replicaSets, set(2));
    for (let change = 0; change < 5; change++) {
      const body = { metadata: { annotations: { change: String(change) } } };
      await cluster.api.patch(
        resources.replicaSets,
        { namespace: 'default', name: 'web' },
        { type: 'merge', body },
      );
      await cluster.advance(1000);
    }
    for (const mend of mends) mend();
    await cluster.advance(60_000);
    expect(await cluster.list(resources.pods)).toHaveLength(2);
    expect(
      cluster.api.calls.filter(({ verb, resource }) => verb === 'create' && resource === 'pods'),
    ).toHaveLength(2);
  });

  it('adopts pods without a controller, and releases those it no longer selects', async () => {
    await start();
    await cluster.api.create(resources.pods, {
      metadata: { name: 'lone', namespace: 'default', labels: { app: 'web' } },
      spec: { containers: [{ name: 'main', image: 'i' }] },
    });
    await cluster.api.create(resources.replicaSets, set(2));
    await cluster.advance(1000);
    expect(await cluster.list(resources.pods)).toHaveLength(2);
    const lone = await cluster.get(resources.pods, 'lone');
    expect(lone.metadata.ownerReferences).toMatchObject([{ name: 'web', controller: true }]);
    await cluster.api.patch(resources.pods, lone.metadata, {
      type: 'merge',
      body: { metadata: { labels: { app: 'other' } } },
    });
    await cluster.advance(1000);
    expect((await cluster.get(resources.pods, 'lone')).metadata.ownerReferences ?? []).toEqual([]);
    expect(await cluster.list(resources.pods)).toHaveLength(3);
  });

  it('reports that it could not create, and clears it when it can', async () => {
    await start();
    const error = new ApiError({ code: 403, message: 'no way' });
    const mend = cluster.api.faults.add({
      verb: 'create',
      resource: resources.pods,
      times: 1000,
      fault: { kind: 'refuse', error },
    });
    await cluster.api.create(resources.replicaSets, set(1));
    await cluster.settle();
    expect((await cluster.get(resources.replicaSets, 'web')).status?.conditions).toMatchObject([
      { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'no way' },
    ]);
    expect(await cluster.events('web')).toContainEqual(
      expect.stringMatching(/^FailedCreate: Error creating: no way/),
    );
    mend();
    await cluster.advance(60_000);
    expect((await cluster.get(resources.replicaSets, 'web')).status).toMatchObject({ readyReplicas: 1 });
    expect((await cluster.get(resources.replicaSets, 'web')).status?.conditions ?? []).toEqual([]);
  });

  it('counts a pod as available when it was ready for minReadySeconds', async () => {
    await start();
    await cluster.api.create(resources.replicaSets, set(1, { minReadySeconds: 10 }));
    await cluster.advance(5000);
    expect((await cluster.get(resources.replicaSets, 'web')).status).toMatchObject({
      readyReplicas: 1,
      availableReplicas: 0,
    });
    await cluster.advance(6000);
    expect((await cluster.get(resources.replicaSets, 'web')).status).toMatchObject({ availableReplicas: 1 });
  });

  it('refuses a selector that selects everything', async () => {
    await start();
    await cluster.api.create(resources.replicaSets, set(2, { selector: {} }));
    await cluster.advance(1000);
    expect(await cluster.list(resources.pods)).toEqual([]);
    expect(await cluster.events('web')).toEqual([expect.stringMatching(/^SelectingAll: /)]);
  });
});
