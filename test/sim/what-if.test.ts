/** What a whole kubelet says it would do: it agrees with what is done later, and saying it changes nothing. */
import { afterEach, describe, expect, it } from 'vitest';
import { loadConfiguration } from '../../src/config/index.js';
import type { ConfigProposals } from '../../src/kubelet/index.js';
import { SimulatedLogind } from '../../src/node/index.js';
import { ClusterMachine, startMember } from './cluster-machine.js';
import { Machine } from './machine.js';
import { endNodes, minute, type Node, second, startNode } from './node.js';
import { gi, mi, NodeLoad, type PodLoad } from './node-load.js';
import { apiPod, type PodShape } from './pods.js';

afterEach(endNodes);

const asking = (memory: string, more: PodShape = {}): PodShape => ({
  ...more,
  containers: [{ name: 'app', image: 'app:1', resources: { requests: { memory } } }],
});

async function startLoaded(): Promise<{
  node: Node;
  load: NodeLoad;
  add(name: string, load: PodLoad, shape?: PodShape): Promise<void>;
}> {
  const machine = new Machine();
  const load = new NodeLoad(machine);
  const node = await startNode({
    machine,
    kubelet: { config: { evictionHard: { 'memory.available': '1Gi' } }, eviction: { stats: load.stats } },
  });
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

/** Everything that one can see of what a kubelet did. */
const done = (node: Node) => ({ changes: node.line.changes.length, told: node.entries.length });

describe('evict', () => {
  it('names the order in which pods go later, the reasons and those that stay', async () => {
    const { node, load, add } = await startLoaded();
    await add('within', { memory: gi }, asking('2Gi'));
    await add('important', { memory: 2 * gi }, asking('1Gi', { spec: { priority: 100 } }));
    await add('greedy', { memory: gi }, asking('100Mi'));
    await add('critical', { memory: 500 * mi }, { spec: { priority: 2_000_001_000 } });
    const before = done(node);
    const calm = await node.kubelet.whatIf.evict();
    expect(calm.next).toBe('The next pass does nothing: no threshold is met.');
    const memory = calm.signals.find(({ signal }) => signal === 'memory.available');
    expect(memory?.thresholds).toMatchObject([{ kind: 'hard', value: gi, met: false }]);
    expect(memory?.pods.items.map(({ name, place }) => [name, place])).toEqual([
      ['greedy', 1],
      ['important', 2],
      ['critical', undefined],
      ['within', 3],
    ]);
    expect(memory?.pods.items[0]?.because).toContain('more than the 100Mi that it requests');
    expect(memory?.pods.items[2]?.passedOver).toBe('critical pods are not evicted');
    expect(done(node)).toEqual(before);

    load.systemMemory = 4 * gi;
    expect((await node.kubelet.whatIf.evict()).next).toBe(
      'The next pass acts on memory.available: default/greedy is evicted.',
    );
    expect(done(node)).toEqual(before);
    await node.until('there is enough', () => load.memoryAvailable >= gi, 5 * minute);
    expect(node.recorded('pod.evicted').map(({ pod }) => pod?.name)).toEqual(['greedy', 'important']);
  });

  it('says why nothing is evicted where nobody looks at the node', async () => {
    const node = await startNode();
    expect(await node.kubelet.whatIf.evict()).toMatchObject({
      off: 'pods are not evicted in a run',
      signals: [],
    });
  });
});

describe('gc', () => {
  it('names what the next pass removes and keeps, and touches nothing', async () => {
    const node = await startNode();
    node.put(
      apiPod('done', {
        containers: [{ name: 'app', image: 'old:1' }],
        sim: { 'exit-code': '0' },
        spec: { restartPolicy: 'Never' },
      }),
    );
    node.put(apiPod('web', { containers: [{ name: 'app', image: 'app:1' }] }));
    await node.untilReady('web');
    await node.advance(2 * minute);
    const before = done(node);
    const outlook = await node.kubelet.whatIf.gc();
    expect(done(node)).toEqual(before);
    const image = (name: string) => outlook.images.items.find((one) => one.name.includes(name));
    expect(image('app:1')).toMatchObject({ when: 'kept', because: expect.stringContaining('uses it') });
    expect(outlook.containers.items.every(({ because }) => because !== '')).toBe(true);
    const removed = outlook.containers.items.filter(({ when }) => when === 'now').map(({ id }) => id);
    await node.advance(2 * minute);
    const gone = node.line.of('removeContainer').map(({ request }) => request.containerId);
    expect(gone).toEqual(expect.arrayContaining(removed));
  });
});

describe('shutdown', () => {
  it('names the groups in the order in which they end later, and the grace of each pod', async () => {
    const machine = new Machine();
    const logind = new SimulatedLogind();
    const node = await startNode({
      machine,
      kubelet: {
        logind,
        config: { shutdownGracePeriod: 30 * second, shutdownGracePeriodCriticalPods: 10 * second },
      },
    });
    node.put(apiPod('critical', { spec: { priority: 2_000_001_000 }, graceSeconds: 5 }));
    node.put(apiPod('web', { graceSeconds: 60 }));
    await node.untilReady('web');
    await node.untilReady('critical');
    const before = done(node);
    const outlook = node.kubelet.whatIf.shutdown();
    expect(outlook.delaySeconds).toBe(30);
    expect(
      outlook.groups.map(({ priority, periodSeconds, pods }) => [
        priority,
        periodSeconds,
        pods.items.map(({ name, graceSeconds, because }) => `${name} ${graceSeconds}s: ${because}`),
      ]),
    ).toEqual([
      [0, 20, ['web 20s: its own grace period of 60s is cut to the 20s of its group']],
      [2_000_000_000, 10, ['critical 5s: its own grace period']],
    ]);
    expect(done(node)).toEqual(before);
  });

  it('says why a shutdown waits for nobody', async () => {
    const node = await startNode();
    expect(node.kubelet.whatIf.shutdown()).toEqual({
      off: 'the configuration sets no shutdownGracePeriod',
      delaySeconds: 0,
      groups: [],
    });
  });
});

/** As an agent reads files, without anything of the machine. */
async function proposals(): Promise<ConfigProposals> {
  const argv = ['--config', '/etc/config.yaml', '--kubeconfig', '/etc/kubeconfig'];
  const text = kubeletConfiguration('evictionHard: {memory.available: 1Gi}');
  const loaded = await loadConfiguration({
    argv,
    cwd: '/',
    readFile: async () => text,
    listDir: async () => [],
  });
  if (loaded.kind !== 'run') throw new Error('it does not run');
  return {
    currentFile: '/etc/config.yaml',
    async read(file, given) {
      const { config, featureGates: gates, warnings } = await loaded.tryFile(file, given);
      return {
        config,
        gates,
        warnings,
        evicts: true,
        cgroups: () => ({
          before: new Map([['all pods', { 'memory limit': '8', 'process limit': '1' }]]),
          after: new Map([['all pods', { 'memory limit': '6', 'process limit': '1' }]]),
        }),
      };
    },
  };
}
const kubeletConfiguration = (...lines: string[]) =>
  ['apiVersion: kubelet.config.k8s.io/v1beta1', 'kind: KubeletConfiguration', ...lines].join('\n');

describe('config', () => {
  async function startConfigured() {
    const machine = new Machine();
    const load = new NodeLoad(machine);
    const node = await startNode({
      machine,
      kubelet: {
        config: { evictionHard: { 'memory.available': '1Gi' } },
        eviction: { stats: load.stats },
        proposals: await proposals(),
      },
    });
    for (const name of ['web', 'job']) {
      load.pods.set(name, { memory: gi });
      node.put(apiPod(name));
      await node.untilReady(name);
    }
    return node;
  }

  it('names the fields that change and what that does to the node as it is', async () => {
    const node = await startConfigured();
    const before = done(node);
    const text = kubeletConfiguration(
      'evictionHard: {memory.available: 6Gi}',
      'maxPods: 1',
      'shutdownGracePeriod: 30s',
      'enableContentionProfiling: true',
      'featureGates: {MemoryQoS: false}',
    );
    const outlook = await node.kubelet.whatIf.config(text, '/tmp/new.yaml');
    if (outlook?.kind !== 'accepted') throw new Error(JSON.stringify(outlook));
    const change = (name: string) => outlook.changes.items.find(({ field }) => field === name);
    expect(change('maxPods')).toEqual({
      field: 'maxPods',
      before: '110',
      after: '1',
      effect: 'restart',
    });
    expect(change('evictionHard[memory.available]')).toMatchObject({ before: '"1Gi"', effect: 'restart' });
    expect(change('shutdownGracePeriod')).toMatchObject({ before: '0s', after: '30s' });
    expect(change('enableContentionProfiling')?.effect).toBe('none');
    expect(change('featureGates.MemoryQoS')).toMatchObject({ before: 'true', after: 'false' });
    expect(change('syncFrequency')).toBeUndefined();
    expect(outlook.eviction.met).toMatchObject([{ signal: 'memory.available', value: 6 * gi }]);
    expect(outlook.eviction.next).toMatch(
      /The next pass acts on memory.available: default\/(web|job) is evicted/,
    );
    expect(outlook.refusedPods.items).toMatchObject([{ reason: 'OutOfpods' }]);
    expect(outlook.cgroups.items).toEqual([
      { cgroup: 'all pods', name: 'memory limit', before: '8', after: '6' },
    ]);
    expect(outlook.shutdownDelaySeconds).toEqual({ before: 0, after: 30 });
    expect(done(node)).toEqual(before);
  });

  it.each([
    ['an unknown field', 'maxPod: 1', '/tmp/new.yaml', /maxPod/],
    [
      'a value beyond its bounds',
      'imageGCHighThresholdPercent: 200',
      '/tmp/new.yaml',
      /imageGCHighThresholdPercent.*between 0 and 100/,
    ],
    [
      'a threshold that cannot be read',
      'evictionHard: {memory.available: lots}',
      '/tmp/new.yaml',
      /evictionHard.*"lots" is not a quantity/,
    ],
    ['no YAML', '{', '/tmp/new.yaml', /\/tmp\/new.yaml/],
  ])('%s is refused with the field and the fix', async (_, line, file, problem) => {
    const node = await startConfigured();
    expect(await node.kubelet.whatIf.config(kubeletConfiguration(line), file)).toMatchObject({
      kind: 'refused',
      file,
      problem: expect.stringMatching(problem),
    });
  });

  it('a node without a configuration file has nothing to compare', async () => {
    const node = await startNode();
    expect(await node.kubelet.whatIf.config('maxPods: 1')).toBeUndefined();
  });
});

describe('in a cluster', () => {
  it('the API is not asked about a new configuration', async () => {
    const on = new ClusterMachine();
    const load = new NodeLoad(on.machine);
    const member = await startMember({
      on,
      kubelet: {
        config: { evictionHard: { 'memory.available': '1Gi' } },
        eviction: { stats: load.stats },
        proposals: await proposals(),
      },
    });
    const { node, line } = member;
    for (const name of ['web', 'job']) {
      load.pods.set(name, { memory: gi });
      await on.create(name);
      await member.untilReady(name);
    }
    await node.advance(minute);
    const all = () => ({ ...done(node), asked: line.calls.length, host: member.hostChanges() });
    const before = all();
    const text = kubeletConfiguration('evictionHard: {memory.available: 6Gi}', 'maxPods: 1');
    const outlook = await node.kubelet.whatIf.config(text, '/tmp/new.yaml');
    if (outlook?.kind !== 'accepted') throw new Error(JSON.stringify(outlook));
    expect(outlook.refusedPods.items).toMatchObject([{ reason: 'OutOfpods' }]);
    expect(outlook.eviction.met).toMatchObject([{ signal: 'memory.available' }]);
    expect(all()).toEqual(before);
  });

  it('no call changes the runtime, the API or the machine', async () => {
    const member = await startMember();
    const { on, node, line } = member;
    await on.create('web');
    await member.untilReady('web');
    await node.advance(minute);
    const writes = () => line.calls.filter(({ verb }) => !/^(get|list|watch|getText)$/.test(verb)).length;
    const all = () => ({ ...done(node), writes: writes(), host: member.hostChanges() });
    const before = all();
    expect(before.changes).toBeGreaterThan(0);
    expect(before.writes).toBeGreaterThan(0);
    expect(before.host).toBeGreaterThan(0);
    await node.kubelet.whatIf.evict();
    await node.kubelet.whatIf.gc();
    node.kubelet.whatIf.shutdown();
    expect(all()).toEqual(before);
  });
});
