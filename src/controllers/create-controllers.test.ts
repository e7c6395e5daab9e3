import { afterEach, describe, expect, it } from 'vitest';
import { resources } from '../kube-client/index.js';
import { TestCluster, testDeployment, testNodeName } from './test-cluster.js';

let cluster: TestCluster;
afterEach(() => cluster.stop());

const pod = (name: string, spec: object = {}) => ({
  metadata: { name, namespace: 'default' },
  spec: { containers: [{ name: 'main', image: 'i' }], ...spec },
});

describe('the controllers together', () => {
  it('leave no timer and no watch behind', async () => {
    cluster = await TestCluster.started();
    await cluster.api.create(resources.deployments, testDeployment('web', 2));
    await cluster.advance(5000);
    await cluster.stop();
    expect([cluster.clock.pendingTimers, cluster.api.openWatches]).toEqual([0, 0]);
  });

  it('go on after the API was away', async () => {
    cluster = await TestCluster.started();
    cluster.api.setReachable(false);
    await cluster.advance(60_000);
    cluster.api.setReachable(true);
    await cluster.api.create(resources.deployments, testDeployment('web', 2));
    await cluster.advance(60_000);
    expect((await cluster.get(resources.deployments, 'web')).status?.availableReplicas).toBe(2);
  });
});

describe('the service account controller', () => {
  it('gives each namespace its account and its bundle, and restores both', async () => {
    cluster = await TestCluster.started();
    await cluster.api.create(resources.namespaces, { metadata: { name: 'team' } });
    await cluster.settle();
    const bundle = { namespace: 'team', name: 'kube-root-ca.crt' };
    expect((await cluster.api.get(resources.configMaps, bundle)).data).toEqual({ 'ca.crt': 'ROOT' });
    await cluster.api.delete(resources.serviceAccounts, { namespace: 'team', name: 'default' });
    await cluster.api.patch(resources.configMaps, bundle, {
      type: 'merge',
      body: { data: { 'ca.crt': 'false' } },
    });
    await cluster.settle();
    expect((await cluster.api.get(resources.configMaps, bundle)).data).toEqual({ 'ca.crt': 'ROOT' });
    expect(
      (await cluster.list(resources.serviceAccounts, 'team')).map(({ metadata }) => metadata.name),
    ).toEqual(['default']);
  });
});

describe('the namespace controller', () => {
  it('deletes what is in a deleted namespace, and lets it go at last', async () => {
    cluster = await TestCluster.started({ stopMs: 3000 });
    await cluster.api.create(resources.namespaces, { metadata: { name: 'team', finalizers: ['test/hold'] } });
    const deployment = testDeployment('web', 2);
    await cluster.api.create(resources.deployments, {
      ...deployment,
      metadata: { ...deployment.metadata, namespace: 'team' },
    });
    await cluster.advance(2000);
    expect(await cluster.list(resources.pods, 'team')).toHaveLength(2);
    await cluster.api.delete(resources.namespaces, { name: 'team' });
    await cluster.advance(1000);
    const ending = await cluster.get(resources.namespaces, 'team');
    expect(ending.spec?.finalizers).toEqual(['kubernetes']);
    expect(ending.status?.phase).toBe('Terminating');
    expect(ending.status?.conditions?.find(({ type }) => type === 'NamespaceContentRemaining')).toMatchObject(
      {
        status: 'True',
        message: 'Some resources are remaining: pods. has 2 resource instances',
      },
    );
    await cluster.advance(10_000);
    expect((await cluster.get(resources.namespaces, 'team')).spec?.finalizers).toEqual([]);
    for (const kind of [
      resources.pods,
      resources.replicaSets,
      resources.configMaps,
      resources.serviceAccounts,
    ])
      expect(await cluster.list(kind, 'team')).toEqual([]);
  });
});

describe('the node binder', () => {
  it('gives pods to the node and tells so', async () => {
    cluster = await TestCluster.started();
    await cluster.api.create(resources.pods, pod('one'));
    await cluster.settle();
    expect((await cluster.get(resources.pods, 'one')).spec.nodeName).toBe(testNodeName);
    expect(await cluster.events('one')).toEqual([
      `Scheduled: Successfully assigned default/one to ${testNodeName}`,
    ]);
  });

  it('tells what is missing, and tries again when the node or its pods change', async () => {
    cluster = await TestCluster.started();
    const big = { containers: [{ name: 'main', image: 'i', resources: { requests: { cpu: '3' } } }] };
    await cluster.api.create(resources.pods, pod('first', big));
    await cluster.advance(1000);
    await cluster.api.create(resources.pods, pod('second', big));
    await cluster.api.create(resources.pods, pod('labelled', { nodeSelector: { disk: 'ssd' } }));
    await cluster.settle();
    const condition = async (name: string) =>
      (await cluster.get(resources.pods, name)).status?.conditions?.[0];
    expect(await condition('second')).toMatchObject({
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message: '0/1 nodes are available: 1 Insufficient cpu.',
    });
    expect((await condition('labelled'))?.message).toBe(
      "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector (the node lacks disk=ssd).",
    );
    expect((await cluster.events('second'))[0]).toMatch(/^FailedScheduling: 0\/1 nodes are available/);
    await cluster.api.delete(resources.pods, { namespace: 'default', name: 'first' });
    await cluster.api.patch(
      resources.nodes,
      { name: testNodeName },
      { type: 'merge', body: { metadata: { labels: { disk: 'ssd' } } } },
    );
    await cluster.advance(1000);
    expect((await cluster.get(resources.pods, 'second')).spec.nodeName).toBe(testNodeName);
    expect((await cluster.get(resources.pods, 'labelled')).spec.nodeName).toBe(testNodeName);
  });

  it('counts what it has given to the node before it sees it there', async () => {
    cluster = await TestCluster.started();
    const half = { containers: [{ name: 'main', image: 'i', resources: { requests: { cpu: '2' } } }] };
    await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => cluster.api.create(resources.pods, pod(name, half))),
    );
    await cluster.advance(1000);
    const placed = (await cluster.list(resources.pods)).filter(({ spec }) => spec.nodeName);
    expect(placed).toHaveLength(2);
  });

  it('waits for gates, and leaves the pods of other schedulers alone', async () => {
    cluster = await TestCluster.started();
    await cluster.api.create(resources.pods, pod('gated', { schedulingGates: [{ name: 'wait' }] }));
    await cluster.api.create(resources.pods, pod('foreign', { schedulerName: 'mine' }));
    await cluster.settle();
    const gated = await cluster.get(resources.pods, 'gated');
    expect(gated.status?.conditions?.[0]).toMatchObject({ status: 'False', reason: 'SchedulingGated' });
    expect((await cluster.get(resources.pods, 'foreign')).spec.nodeName).toBeUndefined();
    expect((await cluster.events('foreign'))[0]).toMatch(/no scheduler "mine" runs on this node/);
    await cluster.api.patch(resources.pods, gated.metadata, {
      type: 'merge',
      body: { spec: { schedulingGates: null } },
    });
    await cluster.settle();
    expect((await cluster.get(resources.pods, 'gated')).spec.nodeName).toBe(testNodeName);
  });
});
