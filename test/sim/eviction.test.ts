/** A whole kubelet under pressure: it frees what it can, evicts pods in order, says why, and recovers. */
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeletConfiguration } from '../../src/config/index.js';
import { CriError } from '../../src/cri/index.js';
import type { Node as NodeObject, Pod, PodStatus } from '../../src/kube/index.js';
import { resources } from '../../src/kube-client/index.js';
import { explainPod, explanationText } from '../../src/timeline/index.js';
import { ClusterMachine, startMember } from './cluster-machine.js';
import { Machine } from './machine.js';
import { endNodes, minute, type Node, second, startNode } from './node.js';
import { gi, mi, NodeLoad, type PodLoad } from './node-load.js';
import { apiPod, type PodShape, staticName, staticPod } from './pods.js';

afterEach(endNodes);

type EvictionConfig = Partial<KubeletConfiguration>;

interface Loaded {
  readonly node: Node;
  readonly load: NodeLoad;
  /** Adds a pod with its load, and waits until it runs. */
  add(name: string, load: PodLoad, shape?: PodShape): Promise<void>;
}

async function startLoaded(config: EvictionConfig, machine = new Machine()): Promise<Loaded> {
  const load = new NodeLoad(machine);
  const node = await startNode({
    machine,
    sources: ['api', 'file'],
    kubelet: { config, eviction: { stats: load.stats } },
  });
  node.set([], 'file');
  return {
    node,
    load,
    async add(name, used, shape = {}) {
      load.pods.set(name, used);
      node.put(apiPod(name, shape));
      await node.untilReady(name);
    },
  };
}

const asking = (memory: string, more: PodShape = {}): PodShape => ({
  ...more,
  containers: [{ name: 'app', image: 'app:1', resources: { requests: { memory } } }],
});

const evicted = (node: Node): string[] => node.recorded('pod.evicted').map(({ pod }) => pod?.name ?? '');
const conditionOf = (status: PodStatus | undefined, type: string) =>
  status?.conditions?.find((condition) => condition.type === type);

describe('memory', () => {
  const config: EvictionConfig = { evictionHard: { 'memory.available': '1Gi' } };

  it('pods beyond their requests go by priority, one after another, until there is enough', async () => {
    const { node, load, add } = await startLoaded(config);
    await add('within', { memory: gi }, asking('2Gi'));
    await add('important', { memory: 2 * gi }, asking('1Gi', { spec: { priority: 100 } }));
    await add('greedy', { memory: gi }, asking('100Mi'));
    await add('modest', { memory: 300 * mi }, asking('100Mi'));
    node.put(staticPod('static'), 'file');
    await node.untilReady(staticName('static'));
    load.pods.set(staticName('static'), { memory: gi });
    expect(evicted(node)).toEqual([]);
    load.systemMemory = 2.5 * gi;
    await node.until('there is enough', () => load.memoryAvailable >= gi, minute);
    expect(evicted(node)).toEqual(['greedy']);
    load.systemMemory = 4 * gi;
    await node.until('there is enough again', () => load.memoryAvailable >= gi, 2 * minute);
    expect(evicted(node)).toEqual(['greedy', 'modest', 'important']);
    await node.advance(5 * minute);
    expect(evicted(node)).toHaveLength(3);
    expect(
      node.machine
        .running()
        .map(({ podName }) => podName)
        .sort(),
    ).toEqual([staticName('static'), 'within']);
  });

  it('an evicted pod has failed, says why, and is not started again', async () => {
    const { node, load, add } = await startLoaded(config);
    await add('web', { memory: 2 * gi }, asking('1Gi'));
    load.systemMemory = 5.5 * gi;
    await node.untilPhase('web', 'Failed');
    const message =
      'The node was low on resource: memory. Threshold quantity: 1Gi, available: 512Mi. Container app was using 2Gi, request is 1Gi, has larger consumption of memory. ';
    expect(node.status('web')).toMatchObject({ phase: 'Failed', reason: 'Evicted', message });
    expect(conditionOf(node.status('web'), 'DisruptionTarget')).toMatchObject({
      status: 'True',
      reason: 'TerminationByKubelet',
      message,
    });
    await node.untilStopped('web');
    await node.advance(minute);
    expect(node.machine.running('web')).toEqual([]);
    expect(node.status('web')).toMatchObject({ phase: 'Failed', reason: 'Evicted', message });
    expect(conditionOf(node.status('web'), 'DisruptionTarget')?.status).toBe('True');
    expect(node.events('web', 'Evicted').map((entry) => entry.event?.annotations)).toEqual([
      { offending_containers: 'app', offending_containers_usage: '2Gi', starved_resource: 'memory' },
    ]);
    expect(node.events(undefined, 'EvictionThresholdMet')).toHaveLength(1);
    expect(node.metric('kubelet_evictions', { eviction_signal: 'memory.available' })).toBe(1);

    const { timeline, clock } = node.kubelet;
    const text = explanationText(explainPod(timeline.ofPod('uid-of-web'), timeline.ofNode(), clock.now()));
    expect(text).toContain('the pod is evicted: The node was low on resource: memory.');
    expect(text).toContain('because it uses 2Gi of memory, more than the 1Gi that it requests');
  });

  it('pods without a request are refused meanwhile, and admitted after the transition period', async () => {
    const { node, load, add } = await startLoaded({
      ...config,
      evictionPressureTransitionPeriod: minute,
    });
    await add('web', { memory: 2 * gi });
    load.systemMemory = 5.5 * gi;
    await node.untilPhase('web', 'Failed');
    node.put(apiPod('best-effort'));
    await node.untilPhase('best-effort', 'Failed');
    expect(node.status('best-effort')).toMatchObject({
      reason: 'Evicted',
      message: 'Pod was rejected: The node had condition: [MemoryPressure]. ',
    });
    const tolerations = [{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists' }];
    node.put(apiPod('tolerating', { spec: { tolerations } }));
    node.put(apiPod('asking', asking('10Mi')));
    await node.untilReady('tolerating');
    await node.untilReady('asking');
    await node.advance(70 * second);
    node.put(apiPod('later'));
    await node.untilReady('later');
  });

  it('pods that nobody can read stop neither eviction nor the others', async () => {
    const { node, load, add } = await startLoaded(config);
    await add('web', { memory: 2 * gi }, asking('1Gi'));
    await add('turned', { memory: 100 * mi }, asking('1Gi'));
    // What a server sends need not be what the type says.
    const wrong = (value: string) => value as unknown as number;
    const volumes = (sizeLimit: string) => ({ spec: { volumes: [{ name: 'v', emptyDir: { sizeLimit } }] } });
    node.put(apiPod('limit', volumes('much')));
    node.put(apiPod('priority', { spec: { priority: wrong('high') } }));
    const good = apiPod('turned', asking('1Gi'));
    const [container] = good.spec.containers;
    const resources = { requests: { memory: 'lots' } };
    node.put({ ...good, spec: { ...good.spec, containers: [{ ...container!, resources }] } });
    load.systemMemory = 5.5 * gi;
    await node.untilPhase('web', 'Failed');
    await node.advance(minute);
    expect(evicted(node)).toEqual(['web']);
    expect(node.machine.running().map(({ podName }) => podName)).toEqual(['turned']);
    expect(node.recorded('eviction.pass')).toEqual([]);
    for (const name of ['limit', 'priority', 'turned']) {
      expect(node.events(name, 'FailedValidation'), name).toHaveLength(1);
    }
  });

  it('a soft threshold leaves a pod its time', async () => {
    const { node, load, add } = await startLoaded({
      evictionSoft: { 'memory.available': '1Gi' },
      evictionSoftGracePeriod: { 'memory.available': '30s' },
      evictionMaxPodGracePeriod: 20,
    });
    await add('web', { memory: 2 * gi }, { sim: { 'stop-delay': '5s' }, graceSeconds: 60 });
    load.systemMemory = 5.5 * gi;
    await node.advance(25 * second);
    expect(evicted(node)).toEqual([]);
    await node.until('it is evicted', () => evicted(node).length > 0);
    expect(node.recorded('pod.evicted', 'web')[0]?.data).toEqual({
      signal: 'memory.available',
      graceSeconds: 20,
    });
    await node.untilStopped('web');
  });
});

describe('disks', () => {
  const config: EvictionConfig = { evictionHard: { 'nodefs.available': '10%' }, imageMinimumGCAge: 0 };

  it('images that nobody uses go first, and that may be enough', async () => {
    const { node, load, add } = await startLoaded(config);
    load.imageBytes = 20 * gi;
    await add('old', { disk: gi }, { image: 'old:1' });
    await add('web', { disk: 5 * gi }, { image: 'web:1' });
    node.drop('old');
    await node.untilStopped('old');
    await node.advance(20 * second);
    load.systemDisk = 50 * gi;
    await node.until('there is room', () => load.diskAvailable >= 10 * gi, minute);
    expect(node.machine.images.list(undefined).map(({ repoTags }) => repoTags)).toHaveLength(1);
    expect(evicted(node)).toEqual([]);
    expect(node.recorded('eviction.reclaim').map(({ data }) => data)).toEqual([
      { signal: 'nodefs.available', relieved: true },
    ]);
    expect(node.isReady('web')).toBe(true);
  });

  it('then the pod that takes most beyond its request; its dead containers go with it', async () => {
    const { node, load, add } = await startLoaded(config);
    await add('small', { disk: 5 * gi });
    await add('large', { disk: 20 * gi });
    load.systemDisk = 70 * gi;
    await node.until('there is room', () => load.diskAvailable >= 10 * gi, 2 * minute);
    expect(evicted(node)).toEqual(['large']);
    expect(node.status('large')?.reason).toBe('Evicted');
    node.put(apiPod('guaranteed', asking('10Mi')));
    await node.untilPhase('guaranteed', 'Failed');
    expect(node.status('guaranteed')?.message).toBe(
      'Pod was rejected: The node had condition: [DiskPressure]. ',
    );
    node.put(staticPod('critical'), 'file');
    await node.untilReady(staticName('critical'));
  });

  it('a resize waits while the disk is short, and not that of a critical pod', async () => {
    const { node, load, add } = await startLoaded(config);
    const critical = { spec: { priority: 2_000_000_000 } };
    await add('web', { disk: 5 * gi }, asking('10Mi'));
    await add('critical', { disk: 5 * gi }, asking('10Mi', critical));
    await add('large', { disk: 20 * gi });
    load.systemDisk = 70 * gi;
    await node.until('there is room', () => load.diskAvailable >= 10 * gi, 2 * minute);
    node.put(apiPod('web', asking('20Mi')));
    node.put(apiPod('critical', asking('20Mi', critical)));
    const pending = () => conditionOf(node.status('web'), 'PodResizePending');
    await node.until('it waits', () => pending() !== undefined);
    expect(pending()).toMatchObject({
      reason: 'Deferred',
      message: 'The node had condition: [DiskPressure]. ',
    });
    const given = (name: string) => node.container(name)?.allocatedResources?.memory;
    await node.until('the other is given', () => given('critical') === '20Mi');
    expect(given('web')).toBe('10Mi');
  });
});

it('a pod over its limit of ephemeral storage fails without a disruption', async () => {
  const { node, load, add } = await startLoaded({});
  const limited: PodShape = {
    containers: [{ name: 'app', image: 'app:1', resources: { limits: { 'ephemeral-storage': '1Gi' } } }],
  };
  await add('web', { disk: gi / 2 }, limited);
  await node.advance(30 * second);
  expect(evicted(node)).toEqual([]);
  load.pods.set('web', { disk: 2 * gi });
  await node.untilPhase('web', 'Failed');
  expect(node.status('web')).toMatchObject({
    reason: 'Evicted',
    message: 'Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ',
  });
  expect(conditionOf(node.status('web'), 'DisruptionTarget')).toBeUndefined();
  expect(node.metric('kubelet_evictions', { eviction_signal: 'ephemeralpodfs.limit' })).toBe(1);
  await node.untilStopped('web');
});

it('processes: the pod with the most of them', async () => {
  const { node, load, add } = await startLoaded({ evictionHard: { 'pid.available': '100' } });
  await add('few', { processes: 10 });
  await add('many', { processes: 200 });
  load.systemProcesses = 700;
  await node.until('it is evicted', () => evicted(node).length > 0);
  expect(evicted(node)).toEqual(['many']);
  expect(node.status('many')?.message).toContain(
    'The node was low on resource: pids. Threshold quantity: 100',
  );
});

it('a pod that does not stop counts as evicted, and the next one goes after 30 s', async () => {
  const { node, load, add } = await startLoaded({ evictionHard: { 'memory.available': '1Gi' } });
  await add('stuck', { memory: 3 * gi });
  await add('other', { memory: gi });
  node.machine.faults.add({ rpc: 'stopContainer', delayMs: minute, times: Number.POSITIVE_INFINITY });
  load.systemMemory = 4 * gi;
  await node.until('both are evicted', () => evicted(node).length === 2, 2 * minute);
  expect(evicted(node)).toEqual(['stuck', 'other']);
  expect(node.reasons('stuck')).toContain('ExceededGracePeriod');
});

describe('a member of a cluster', () => {
  const config: EvictionConfig = { evictionHard: { 'memory.available': '1Gi' } };

  async function start(on: ClusterMachine, load: NodeLoad) {
    return startMember({ on, kubelet: { config, eviction: { stats: load.stats } } });
  }
  const nodeCondition = async (on: ClusterMachine, type: string) => {
    const { items } = await on.api.list<NodeObject>(resources.nodes);
    return items[0]?.status?.conditions?.find((condition) => condition.type === type);
  };

  it('tells the API of the pressure and of the pod', async () => {
    const on = new ClusterMachine();
    const load = new NodeLoad(on.machine);
    const member = await start(on, load);
    await on.create('web');
    load.pods.set('web', { memory: 2 * gi });
    await member.untilReady('web');
    load.systemMemory = 5.5 * gi;
    const failed = (pod: Pod): boolean => pod.status?.phase === 'Failed';
    const pod = await member.until('has failed', 'web', failed);
    expect(pod.status).toMatchObject({ reason: 'Evicted' });
    expect(conditionOf(pod.status, 'DisruptionTarget')?.reason).toBe('TerminationByKubelet');
    await member.node.advance(20 * second);
    expect(await nodeCondition(on, 'MemoryPressure')).toMatchObject({
      status: 'True',
      reason: 'KubeletHasInsufficientMemory',
    });
    expect(await nodeCondition(on, 'DiskPressure')).toMatchObject({ status: 'False' });
    await member.node.advance(6 * minute);
    expect(await nodeCondition(on, 'MemoryPressure')).toMatchObject({ status: 'False' });
    expect(member.node.events(undefined).map(({ event }) => event?.reason)).toEqual(
      expect.arrayContaining(['NodeHasInsufficientMemory', 'NodeHasSufficientMemory']),
    );
  });

  it('that dies in the middle of an eviction finishes it at its next start', async () => {
    const on = new ClusterMachine();
    const load = new NodeLoad(on.machine);
    const first = await start(on, load);
    await on.create('web');
    load.pods.set('web', { memory: 2 * gi });
    await first.untilReady('web');
    const error = new CriError('Unavailable', 'the runtime is busy');
    for (const rpc of ['stopContainer', 'stopPodSandbox'] as const) {
      on.machine.faults.add({ rpc, error, times: Number.POSITIVE_INFINITY });
    }
    load.systemMemory = 5.5 * gi;
    await first.node.until(
      'it cannot be stopped',
      () => first.node.events('web', 'FailedKillPod').length > 0,
    );
    await first.crash();
    expect(on.machine.running('web')).toHaveLength(1);
    expect((await on.pod('web')).status?.phase).toBe('Running');
    on.machine.faults.clear();
    const next = await start(on, load);
    const { status } = await next.until('has failed', 'web', (pod) => pod.status?.phase === 'Failed');
    expect(status).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    await next.node.advance(2 * minute);
    expect(on.machine.running('web')).toEqual([]);
    expect(evicted(next.node)).toEqual(['web']);
  });

  it('that dies at the decision to evict decides the same at its next start', async () => {
    const on = new ClusterMachine();
    const load = new NodeLoad(on.machine);
    const first = await start(on, load);
    for (const name of ['large', 'small']) await on.create(name);
    load.pods.set('large', { memory: 2 * gi });
    load.pods.set('small', { memory: gi / 4 });
    for (const name of ['large', 'small']) await first.untilReady(name);
    first.node.kubelet.timeline.subscribe(({ what }) => {
      if (what === 'pod.evicted') first.line.cut();
    });
    load.systemMemory = 5.5 * gi;
    await first.node.until('it is being evicted', () => evicted(first.node).length > 0);
    await first.crash();
    const next = await start(on, load);
    await next.until('has failed', 'large', (pod) => pod.status?.phase === 'Failed');
    await next.node.until('nothing of it runs', () => on.machine.running('large').length === 0);
    await next.node.advance(minute);
    expect(evicted(next.node)).toEqual(['large']);
    expect((await on.pod('small')).status?.phase).toBe('Running');
  });
});
