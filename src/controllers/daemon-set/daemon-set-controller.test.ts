import { afterEach, describe, expect, it } from 'vitest';
import type { DaemonSet, Node } from '../../kube/index.js';
import { resources } from '../../kube-client/index.js';
import { TestCluster, type TestClusterOptions, testNodeName, testTemplate } from '../test-cluster.js';
import { daemonFit } from './daemon-pod.js';

const setOf = (more: Partial<DaemonSet['spec']> = {}): DaemonSet => ({
  metadata: { name: 'log', namespace: 'default', generation: 1 },
  spec: { selector: { matchLabels: { app: 'log' } }, template: testTemplate('log'), ...more },
});

describe('daemonFit', () => {
  const node = (taints: NonNullable<Node['spec']>['taints'] = []): Node => ({
    metadata: { name: 'n', labels: { a: 'b' } },
    spec: { taints },
  });
  const selecting = (nodeSelector: Record<string, string>): DaemonSet => {
    const template = testTemplate('log');
    return setOf({ template: { ...template, spec: { ...template.spec, nodeSelector } } });
  };
  it.each<[rule: string, set: DaemonSet, node: Node | undefined, shouldRun: boolean, mayStay: boolean]>([
    ['every node is one', setOf(), node(), true, true],
    ['a node that is not there is none', setOf(), undefined, false, false],
    ['a node that the selector does not match is none', selecting({ a: 'c' }), node(), false, false],
    ['a node that it matches is one', selecting({ a: 'b' }), node(), true, true],
    ['a taint keeps new pods out', setOf(), node([{ key: 'k', effect: 'NoSchedule' }]), false, true],
    [
      'a stronger one ends those that are there',
      setOf(),
      node([{ key: 'k', effect: 'NoExecute' }]),
      false,
      false,
    ],
    [
      'daemons tolerate a cordoned node',
      setOf(),
      node([{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }]),
      true,
      true,
    ],
  ])('%s', (_, set, on, shouldRun, mayStay) => {
    expect(daemonFit(set, on)).toEqual({ shouldRun, mayStay });
  });
});

describe('the DaemonSet controller', () => {
  let cluster: TestCluster;
  afterEach(() => cluster.stop());
  const ref = { namespace: 'default', name: 'log' };
  const start = async (set: DaemonSet, options: TestClusterOptions = {}): Promise<void> => {
    cluster = await TestCluster.started(options);
    await cluster.api.create(resources.daemonSets, set);
    await cluster.advance(2000);
  };
  const images = async (): Promise<string[]> =>
    (await cluster.list(resources.pods)).map(({ spec }) => spec.containers[0]!.image ?? '');
  const setImage = (image: string) =>
    cluster.api.patch(resources.daemonSets, ref, {
      type: 'merge',
      body: { spec: { template: { spec: { containers: [{ name: 'main', image }] } } } },
    });

  it('keeps one pod on the node, also when the node is cordoned', async () => {
    cluster = await TestCluster.started();
    await cluster.api.patch(
      resources.nodes,
      { name: testNodeName },
      { type: 'merge', body: { spec: { unschedulable: true } } },
    );
    await cluster.api.create(resources.daemonSets, setOf());
    await cluster.advance(2000);
    const [pod] = await cluster.list(resources.pods);
    expect(pod!.spec.nodeName).toBe(testNodeName);
    expect((await cluster.get(resources.daemonSets, 'log')).status).toMatchObject({
      desiredNumberScheduled: 1,
      currentNumberScheduled: 1,
      numberReady: 1,
      updatedNumberScheduled: 1,
      numberAvailable: 1,
      numberUnavailable: 0,
      numberMisscheduled: 0,
      observedGeneration: 1,
    });
  });

  it('replaces the pod when its template changes, and keeps the history', async () => {
    await start(setOf());
    await setImage('image:2');
    await cluster.advance(2000);
    expect(await images()).toEqual(['image:2']);
    const revisions = await cluster.list(resources.controllerRevisions);
    expect(revisions.map(({ revision }) => revision).sort()).toEqual([1, 2]);
    await setImage('image:1');
    await cluster.advance(2000);
    expect(
      (await cluster.list(resources.controllerRevisions)).map(({ revision }) => revision).sort(),
    ).toEqual([2, 3]);
  });

  it('brings the new pod before the old one goes, when it may have one too many', async () => {
    await start(
      setOf({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } }),
      { startMs: 1000 },
    );
    await setImage('image:2');
    await cluster.advance(500);
    expect((await images()).sort()).toEqual(['image:1', 'image:2']);
    await cluster.advance(5000);
    expect(await images()).toEqual(['image:2']);
  });

  it('leaves an old pod alone until somebody deletes it, when told so', async () => {
    await start(setOf({ updateStrategy: { type: 'OnDelete' } }));
    await setImage('image:2');
    await cluster.advance(2000);
    expect(await images()).toEqual(['image:1']);
    const [pod] = await cluster.list(resources.pods);
    await cluster.api.delete(resources.pods, pod!.metadata);
    await cluster.advance(2000);
    expect(await images()).toEqual(['image:2']);
  });

  it('makes a pod that failed anew', async () => {
    let left = 1;
    await start(setOf(), { fate: () => (left-- > 0 ? 'failed' : 'ready') });
    await cluster.advance(5000);
    expect((await cluster.list(resources.pods)).map(({ status }) => status?.phase)).toEqual(['Running']);
    expect(await cluster.events('log')).toContainEqual(expect.stringMatching(/^FailedDaemonPod: /));
  });

  it('ends the pod when the node no longer matches', async () => {
    const template = testTemplate('log');
    await start(
      setOf({
        template: { ...template, spec: { ...template.spec, nodeSelector: { 'kubernetes.io/os': 'linux' } } },
      }),
    );
    expect(await images()).toHaveLength(1);
    const body = { metadata: { labels: { 'kubernetes.io/os': 'plan9' } } };
    await cluster.api.patch(resources.nodes, { name: testNodeName }, { type: 'merge', body });
    await cluster.advance(2000);
    expect(await images()).toEqual([]);
    expect((await cluster.get(resources.daemonSets, 'log')).status).toMatchObject({
      desiredNumberScheduled: 0,
      currentNumberScheduled: 0,
    });
  });
});
