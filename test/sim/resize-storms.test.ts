/** Resizes that come too often, all at once, at the wrong moment, or with amounts that nobody can give. */
import { afterEach, describe, expect, it } from 'vitest';
import { CriError } from '../../src/cri/index.js';
import type {
  Container,
  Node as NodeObject,
  Pod,
  PodCondition,
  ResourceRequirements,
} from '../../src/kube/index.js';
import type { AdmissionRule } from '../../src/kubelet/admission/admission.js';
import { enoughResources } from '../../src/kubelet/admission/node-fit.js';
import { Machine } from './machine.js';
import { endNodes, minute, type Node, type NodeOptions, nodeName, second, startNode } from './node.js';
import { passEveryLook } from './passing-time.js';
import { apiPod, type PodShape } from './pods.js';
import { startVolumeNode } from './volume-node.js';

afterEach(endNodes);

const nodeOf = (cpu: string): NodeObject => ({
  metadata: { name: nodeName, labels: {} },
  status: { allocatable: { cpu, memory: '8Gi', pods: '110' } },
});
const capacity = (cpu: string): NodeOptions['kubelet'] => ({ node: () => nodeOf(cpu) });

/** A node that notes each pod whose resize it judges. */
function judging(cpu: string, judged: string[]): NodeOptions['kubelet'] {
  const room = enoughResources(() => nodeOf(cpu));
  const noting: AdmissionRule = {
    ...room,
    admit: (attempt) => {
      if (attempt.operation === 'resize') judged.push(attempt.pod.metadata.name ?? '');
      return room.admit(attempt);
    },
  };
  return { ...capacity(cpu), admission: [noting] };
}

class OpenMachine extends Machine {
  /** What containers have, by pod and name; undefined for one that has what it was made with. */
  shares(): Record<string, number | undefined> {
    return Object.fromEntries(
      [...this.store.containers.values()].map(({ sandbox, config, resources }) => [
        `${sandbox.config.metadata?.name} ${config.metadata?.name}`,
        resources?.cpuShares,
      ]),
    );
  }
}
const requesting = (cpu: string): ResourceRequirements => ({ requests: { cpu } });

function asking(
  name: string,
  resources: ResourceRequirements,
  shape: PodShape & { generation?: number } = {},
): Pod {
  const container: Container = { name: 'app', image: 'app:1', resources };
  const pod = apiPod(name, { containers: [container], ...shape });
  return { ...pod, metadata: { ...pod.metadata, generation: shape.generation ?? 1 } };
}

const condition = (node: Node, name: string, type: string): PodCondition | undefined =>
  node.status(name)?.conditions?.find((one) => one.type === type);
const pending = (node: Node, name: string) => condition(node, name, 'PodResizePending');
const inProgress = (node: Node, name: string) => condition(node, name, 'PodResizeInProgress');
const given = (node: Node, name: string): string | undefined => node.container(name)?.allocatedResources?.cpu;
const syncs = (node: Node): number =>
  ['create', 'update', 'sync'].reduce(
    (sum, type) =>
      sum + (node.metric('kubelet_pod_worker_duration_seconds_count', { operation_type: type }) ?? 0),
    0,
  );

/** Enough for whatever grows with each of them to show. */
const inARow = 250;

describe('many resizes of one pod', () => {
  it('one after the other are all made real, with the same work for each', async () => {
    const machine = new OpenMachine();
    passEveryLook(machine.time);
    const { node, host } = await startVolumeNode({ machine, kubelet: capacity('2') });
    node.put(asking('a', requesting('1')));
    await node.untilReady('a');
    await node.advance(5 * second);
    const before = { syncs: syncs(node), calls: node.line.calls.length, files: host.calls.length };
    for (let turn = 1; turn <= inARow; turn++) {
      node.put(asking('a', requesting(turn % 2 === 0 ? '1' : '1500m'), { generation: turn + 1 }));
      await node.advance(20);
    }
    await node.advance(5 * second);
    expect([given(node, 'a'), node.status('a')?.observedGeneration]).toEqual(['1', inARow + 1]);
    expect(inProgress(node, 'a')).toBeUndefined();
    expect(node.line.of('updateContainerResources')).toHaveLength(inARow);
    expect(syncs(node) - before.syncs).toBeLessThanOrEqual(2 * inARow + 10);
    // A word to the sandbox, one update and two looks for each, and the lists of all pods now and then.
    expect(node.line.calls.length - before.calls).toBeLessThanOrEqual(4 * inARow + 50);
    // Two records, each of which takes four steps to be replaced.
    const changes = host.calls.slice(before.files).filter(({ changing }) => changing);
    expect(changes.length).toBeLessThanOrEqual(8 * inARow + 50);
    expect(node.kubelet.timeline.ofPod('uid-of-a').length).toBeLessThanOrEqual(256);
    expect(node.machine.running('a').map(({ attempt }) => attempt)).toEqual([0]);
  }, 60_000);

  it('a thousand at once, come to the last, with no more than one update for each', async () => {
    const machine = new OpenMachine();
    const node = await startNode({ machine, kubelet: capacity('2') });
    node.put(asking('a', requesting('1')));
    await node.untilReady('a');
    for (let turn = 1; turn <= 999; turn++)
      node.put(asking('a', requesting(turn % 2 === 0 ? '1' : `${turn}m`), { generation: turn + 1 }));
    await node.until('the last is given', () => given(node, 'a') === '999m');
    await node.advance(5 * second);
    expect(node.status('a')?.observedGeneration).toBe(1000);
    expect([pending(node, 'a'), inProgress(node, 'a')]).toEqual([undefined, undefined]);
    expect(node.line.of('updateContainerResources').length).toBeLessThanOrEqual(999);
    expect(machine.shares()).toEqual({ 'a app': 1022 });
  }, 30_000);

  it('that never fit leave the pod as it is', async () => {
    const node = await startNode({ kubelet: capacity('2') });
    node.put(asking('a', requesting('1')));
    await node.untilReady('a');
    for (let turn = 1; turn <= inARow; turn++) {
      node.put(asking('a', requesting(`${turn + 2}`), { generation: turn + 1 }));
      await node.advance(20);
    }
    await node.until('the last is refused', () => pending(node, 'a')?.observedGeneration === inARow + 1);
    expect(node.line.of('updateContainerResources')).toEqual([]);
    expect(given(node, 'a')).toBe('1');
    const quiet = syncs(node);
    await node.advance(2 * minute);
    expect(syncs(node) - quiet).toBeLessThanOrEqual(6);
  }, 60_000);
});

describe('a hundred pods that ask for more', () => {
  const names = Array.from({ length: 100 }, (_, index) => `p${index}`);
  const all = (cpu: string, generation: number): Pod[] =>
    names.map((name) => asking(name, requesting(cpu), { generation }));
  const holding = (node: Node, cpu: string): string[] => names.filter((name) => given(node, name) === cpu);

  it('get it while there is room, never more than there is, and the others as soon as there is room again', async () => {
    const judged: string[] = [];
    const machine = new OpenMachine();
    const node = await startNode({ machine, kubelet: judging('15', judged) });
    node.set(all('100m', 1));
    for (const name of names) await node.untilReady(name);
    node.set(all('200m', 2));
    await node.until('all are judged', () =>
      names.every((name) => given(node, name) === '200m' || pending(node, name) !== undefined),
    );
    await node.advance(5 * second);
    expect(holding(node, '200m')).toHaveLength(50);
    expect(names.filter((name) => pending(node, name)?.reason === 'Deferred')).toHaveLength(50);
    expect(Object.values(machine.shares()).filter((share) => share === 204)).toHaveLength(50);
    // One round judges all that wait, whoever asked for it meanwhile.
    expect(judged.length).toBeLessThanOrEqual(2 * 100);
    const first = holding(node, '200m');
    // Those that were given more give it back, all at once.
    node.set(
      names.map((name) =>
        asking(name, requesting(first.includes(name) ? '100m' : '200m'), { generation: 3 }),
      ),
    );
    await node.until('the others have it', () =>
      names.every((name) => given(node, name) === (first.includes(name) ? '100m' : '200m')),
    );
    await node.advance(5 * second);
    expect(names.filter((name) => pending(node, name) ?? inProgress(node, name))).toEqual([]);
    // In the worst case each that shrinks has the others judged once.
    expect(judged.length).toBeLessThan(50 * 50 + 300);
    expect(node.machine.seenContainers().every(({ attempt }) => attempt === 0)).toBe(true);
  }, 120_000);

  it('that is nowhere to be had are tried every three minutes, and not more often', async () => {
    const judged: string[] = [];
    const node = await startNode({ kubelet: judging('10', judged) });
    node.set(all('100m', 1));
    for (const name of names) await node.untilReady(name);
    node.set(all('20', 2));
    await node.until('all wait', () => names.every((name) => pending(node, name) !== undefined));
    await node.advance(10 * second);
    const before = judged.length;
    await node.advance(2 * minute);
    expect(judged.length).toBe(before);
    await node.advance(4 * minute);
    expect(judged.slice(before).sort()).toEqual([...names, ...names].sort());
    expect(names.every((name) => node.events(name, 'ResizeDeferred').length === 1)).toBe(true);
    expect(node.line.of('updateContainerResources')).toEqual([]);
  }, 120_000);
});

describe('a resize', () => {
  it('while the runtime is gone is made real when it is back, after few tries', async () => {
    let isGone = false;
    const node = await startNode({
      kubelet: capacity('2'),
      through: (machine) => ({
        ...machine,
        updateContainerResources: async (request, options) => {
          if (isGone) throw new CriError('Unavailable', 'connection refused');
          return machine.updateContainerResources(request, options);
        },
        listPodSandbox: async (request, options) => {
          if (isGone) throw new CriError('Unavailable', 'connection refused');
          return machine.listPodSandbox(request, options);
        },
        status: async (request, options) => {
          if (isGone) throw new CriError('Unavailable', 'connection refused');
          return machine.status(request, options);
        },
      }),
    });
    node.put(asking('a', requesting('1')));
    await node.untilReady('a');
    isGone = true;
    node.put(asking('a', requesting('1500m'), { generation: 2 }));
    await node.advance(10 * minute);
    expect(node.line.of('updateContainerResources').length).toBeLessThan(15);
    expect(node.events('a', 'ResizeError').length).toBeLessThanOrEqual(1);
    isGone = false;
    await node.until('it is done', () => node.reasons('a').includes('ResizeCompleted'), 6 * minute);
    await node.advance(second);
    expect([given(node, 'a'), inProgress(node, 'a')]).toEqual(['1500m', undefined]);
    expect(node.container('a')?.resources?.requests?.cpu).toBe('1500m');
    expect(node.machine.running('a').map(({ attempt }) => attempt)).toEqual([0]);
  });

  const endings: [string, (node: Node) => void][] = [
    ['is deleted', (node) => node.delete('a', 2)],
    ['is taken away', (node) => node.drop('a')],
    ['has a container that ends', (node) => node.machine.exitContainer(node.machine.running('a')[0]!.id, 0)],
  ];
  it.each(endings)('of a pod that %s while it is made real leaves nothing behind', async (_, end) => {
    let resolve: () => void = () => undefined;
    const held = new Promise<void>((done) => {
      resolve = done;
    });
    const node = await startNode({
      kubelet: capacity('2'),
      through: (machine) => ({
        ...machine,
        updateContainerResources: async (request, options) => {
          await held;
          return machine.updateContainerResources(request, options);
        },
      }),
    });
    node.put(asking('a', requesting('1'), { spec: { restartPolicy: 'Never' } }));
    await node.untilReady('a');
    node.put(asking('a', requesting('1500m'), { spec: { restartPolicy: 'Never' }, generation: 2 }));
    await node.until('it begins', () => node.line.of('updateContainerResources').length === 1);
    end(node);
    await node.advance(second);
    resolve();
    await node.untilStopped('a');
    await node.advance(minute);
    expect([pending(node, 'a'), inProgress(node, 'a')]).toEqual([undefined, undefined]);
    expect(node.metric('kubelet_pod_in_progress_resizes')).toBe(0);
    expect(node.reasons('a')).not.toContain('ResizeError');
  });

  it.each(endings)('of a pod that %s while it waits leaves nothing behind', async (_, end) => {
    const node = await startNode({ kubelet: capacity('2') });
    node.put(asking('a', requesting('1'), { spec: { restartPolicy: 'Never' } }));
    await node.untilReady('a');
    node.put(asking('a', requesting('3'), { spec: { restartPolicy: 'Never' }, generation: 2 }));
    await node.until('it waits', () => pending(node, 'a') !== undefined);
    end(node);
    await node.untilStopped('a');
    await node.advance(minute);
    expect([pending(node, 'a'), inProgress(node, 'a')]).toEqual([undefined, undefined]);
    expect(
      node.metric('kubelet_pod_pending_resizes', { reason: 'deferred', priority_bucket: 'normal' }),
    ).toBe(0);
  });

  it('while an init container runs is given to it at once, and to the others when they start', async () => {
    const shaped = (cpu: string, generation: number): Pod =>
      asking('a', requesting(cpu), {
        generation,
        init: [{ name: 'first', image: 'app:1', resources: requesting(cpu) }],
        sim: { 'first.run-time': '60s' },
      });
    const machine = new OpenMachine();
    const node = await startNode({ machine, kubelet: capacity('4') });
    node.put(shaped('1', 1));
    await node.until('the first runs', () => node.machine.running('a').length === 1);
    await node.advance(5 * second);
    node.put(shaped('2', 2));
    await node.until('it is told', () => node.line.of('updateContainerResources').length === 1);
    await node.untilReady('a');
    // The other was made with what the pod had been given by then.
    expect(machine.shares()).toEqual({ 'a first': 2048, 'a app': undefined });
    expect(node.line.of('updateContainerResources')).toHaveLength(1);
    expect([given(node, 'a'), pending(node, 'a'), inProgress(node, 'a')]).toEqual([
      '2',
      undefined,
      undefined,
    ]);
  });

  it('to a memory limit below what is used is tried a few times, and done when less is used', async () => {
    const sized = (memory: string): ResourceRequirements => ({
      requests: { memory: '1Mi' },
      limits: { memory },
    });
    let usedMebi = 150;
    const node = await startNode({
      kubelet: capacity('2'),
      through: (machine) => ({
        ...machine,
        containerStats: async (request, options) => {
          const { stats } = await machine.containerStats(request, options);
          if (stats?.memory === undefined) return { stats };
          const usageBytes = { value: usedMebi * 1024 ** 2 };
          return { stats: { ...stats, memory: { ...stats.memory, usageBytes } } };
        },
      }),
    });
    node.put(asking('a', sized('200Mi')));
    await node.untilReady('a');
    const before = syncs(node);
    node.put(asking('a', sized('100Mi'), { generation: 2 }));
    await node.advance(10 * minute);
    expect(node.line.of('containerStats').length).toBeLessThan(12);
    expect(node.line.of('updateContainerResources')).toEqual([]);
    expect(syncs(node) - before).toBeLessThan(40);
    expect(inProgress(node, 'a')?.message).toBe(
      'cannot decrease memory limits: attempting to set container "app" memory limit (104857600) below current usage (157286400)',
    );
    usedMebi = 50;
    await node.until('it is done', () => node.reasons('a').includes('ResizeCompleted'), 6 * minute);
  });
});

describe('absurd amounts', () => {
  const huge = ['1e30', '16Ei', '9223372036854775807', '1e400'];
  it.each(
    huge.flatMap((amount) => [
      ['cpu', amount],
      ['memory', amount],
    ]),
  )('of %s (%s) wait, harm nothing, and can be taken back', async (resource, amount) => {
    const of = (cpu: string, memory: string): ResourceRequirements => ({
      requests: { cpu, memory },
      limits: { cpu, memory },
    });
    const node = await startNode({ kubelet: capacity('2') });
    node.put(asking('a', of('1', '64Mi')));
    node.put(asking('b', of('100m', '64Mi')));
    await node.untilReady('a');
    await node.untilReady('b');
    const asked = resource === 'cpu' ? of(amount, '64Mi') : of('1', amount);
    node.put(asking('a', asked, { generation: 2 }));
    await node.until('it is refused', () => pending(node, 'a')?.reason === 'Deferred');
    node.put(asking('b', of('200m', '64Mi'), { generation: 2 }));
    await node.until('another is resized', () => given(node, 'b') === '200m');
    node.put(asking('a', of('1', '64Mi'), { generation: 3 }));
    await node.until('it is taken back', () => pending(node, 'a') === undefined);
    expect(given(node, 'a')).toBe('1');
  });

  it.each([
    ['a limit of 1e30 CPUs', { limits: { cpu: '1e30' } }],
    ['a limit of 16Ei of memory', { limits: { memory: '16Ei' } }],
    ['a request of a billionth of a CPU', { requests: { cpu: '1n', memory: '1m' } }],
    ['a limit of a billionth of a CPU', { requests: { cpu: '0' }, limits: { cpu: '1n' } }],
  ])('%s: the pod comes to rest', async (_, resources: ResourceRequirements) => {
    const zero = { requests: { cpu: '0', memory: '0' } };
    const node = await startNode({ kubelet: capacity('2') });
    node.put(asking('a', { ...zero, limits: { cpu: '1', memory: '64Mi' } }));
    await node.untilReady('a');
    const asked = {
      requests: { ...zero.requests, ...resources.requests },
      limits: { cpu: '1', memory: '64Mi', ...resources.limits },
    };
    node.put(asking('a', asked, { generation: 2 }));
    await node.advance(10 * second);
    const before = { syncs: syncs(node), calls: node.line.of('updateContainerResources').length };
    expect(before.calls).toBeLessThanOrEqual(2);
    await node.advance(5 * minute);
    expect(node.line.of('updateContainerResources').length - before.calls).toBeLessThanOrEqual(6);
    expect(syncs(node) - before.syncs).toBeLessThan(30);
    for (const { request } of node.line.of('updateContainerResources')) {
      // What the request has is a message of CRI.
      const linux = request.linux as Record<string, unknown>;
      for (const name of ['cpuShares', 'cpuQuota', 'memoryLimitInBytes', 'cpuPeriod'])
        expect(Math.abs(Number(linux[name] ?? 0)), name).toBeLessThan(2 ** 63);
    }
    expect(node.machine.running('a').map(({ attempt }) => attempt)).toEqual([0]);
  });
});
