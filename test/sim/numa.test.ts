/** A whole kubelet on a machine with several NUMA nodes: CPUs and memory that lie together, crashes, and files that do not fit. */
import { afterEach, describe, expect, it } from 'vitest';
import { SimulatedMachine } from '../../src/host/index.js';
import type { Container, Pod } from '../../src/kube/index.js';
import { Machine } from './machine.js';
import { endNodes, type NodeOptions, startNode } from './node.js';
import { apiPod } from './pods.js';
import { Outside, rootDir, startVolumeNode, type VolumeNodeOptions } from './volume-node.js';

afterEach(endNodes);

const memoryState = `${rootDir}/memory_manager_state`;
const gi = 1024 ** 3;

/** `nodes` NUMA nodes with 4 CPUs and 4 GiB each. */
async function machineFiles(nodes: number): Promise<SimulatedMachine> {
  const files = new SimulatedMachine();
  const outside = new Outside(files);
  for (let node = 0; node < nodes; node++) {
    const directory = `/sys/devices/system/node/node${node}`;
    for (let cpu = 4 * node; cpu < 4 * node + 4; cpu++) {
      await outside.makeDirectory(`${directory}/cpu${cpu}/topology`);
      await outside.write(`${directory}/cpu${cpu}/topology/core_id`, `${cpu}\n`);
      await outside.write(`${directory}/cpu${cpu}/topology/physical_package_id`, `${node}\n`);
    }
    await outside.write(`${directory}/meminfo`, `Node ${node} MemTotal: ${4 * 1024 * 1024} kB\n`);
  }
  return files;
}

const config: NonNullable<NodeOptions['kubelet']>['config'] = {
  cpuManagerPolicy: 'static',
  memoryManagerPolicy: 'Static',
  topologyManagerPolicy: 'restricted',
  systemReserved: { cpu: '1', memory: '1Gi' },
  evictionHard: {},
  reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }],
};

async function start(options: VolumeNodeOptions & { readonly nodes?: number } = {}) {
  const files = options.files ?? (await machineFiles(options.nodes ?? 2));
  const machine = options.machine ?? new Machine();
  const kubelet = { ...options.kubelet, config: { ...config, ...options.kubelet?.config } };
  const started = await startVolumeNode({ ...options, files, machine, kubelet });
  return { ...started, files, machine, outside: new Outside(files) };
}

function asking(name: string, cpu: string, memory: string): Pod {
  return apiPod(name, { containers: [containerOf('app', cpu, memory)] });
}

function containerOf(name: string, cpu: string, memory: string): Container {
  const amounts = { cpu, memory };
  return { name, image: 'app:1', resources: { requests: amounts, limits: amounts } };
}

/** What each container that runs is bound to, as `CPUs/nodes`. */
async function bound(machine: Machine): Promise<Record<string, string>> {
  const all: Record<string, string> = {};
  for (const { id, podName, name } of machine.running()) {
    const { status } = await machine.containerStatus({ containerId: id });
    const linux = status?.resources?.linux;
    all[`${podName}/${name}`] = `${linux?.cpusetCpus}/${linux?.cpusetMems}`;
  }
  return all;
}

async function stateOf(outside: Outside): Promise<{
  readonly entries?: Record<string, Record<string, { numaAffinity: number[]; size: number }[]>>;
  readonly machineState: Record<string, { memoryMap: { memory: { free: number } } }>;
}> {
  return JSON.parse((await outside.text(memoryState)) ?? '');
}

async function freeGi(outside: Outside): Promise<number[]> {
  const { machineState } = await stateOf(outside);
  return Object.values(machineState).map(({ memoryMap }) => memoryMap.memory.free / gi);
}

describe('CPUs and memory', () => {
  it('come from the same NUMA node', async () => {
    const { node, machine, outside } = await start();
    node.put(asking('a', '3', '2Gi'));
    await node.untilReady('a');
    node.put(asking('b', '4', '2Gi'));
    await node.untilReady('b');
    expect(await bound(machine)).toEqual({ 'a/app': '1-3/0', 'b/app': '4-7/1' });
    expect(await freeGi(outside)).toEqual([1, 2]);
  });

  it('are refused where no node has both', async () => {
    const { node, machine } = await start();
    node.put(asking('a', '1', '3Gi'));
    node.put(asking('b', '3', '512Mi'));
    await node.untilReady('a');
    await node.untilReady('b');
    node.put(asking('c', '3', '3Gi'));
    await node.until('it is refused', () => node.status('c')?.phase === 'Failed');
    expect(node.status('c')).toMatchObject({
      reason: 'TopologyAffinityError',
      message: 'Pod was rejected: Resources cannot be allocated with Topology locality',
    });
    expect(node.metric('kubelet_admission_rejections_total', { reason: 'TopologyAffinityError' })).toBe(1);
    expect(node.metric('kubelet_topology_manager_admission_errors_total', {})).toBe(1);
    expect(Object.keys(await bound(machine)).sort()).toEqual(['a/app', 'b/app']);
  });

  it.each([1, 4, 8])('fill a machine with %i NUMA nodes', async (nodes) => {
    const { node, machine } = await start({
      nodes,
      kubelet: { config: { topologyManagerPolicy: 'single-numa-node' } },
    });
    for (let index = 0; index < nodes; index++) node.put(asking(`p${index}`, '3', '3Gi'));
    await node.until('all run', () => machine.running().length === nodes);
    const used = Object.values(await bound(machine)).map((text) => text.split('/')[1]);
    expect(used.sort()).toEqual(Array.from({ length: nodes }, (_, id) => String(id)));
  });
});

describe('CPUs of its own', () => {
  const burstable = (name: string): Pod => apiPod(name, { containers: [{ name: 'app', image: 'app:1' }] });

  it('stay over a restart of the container, and others leave them by one call', async () => {
    const { node, machine, outside } = await start();
    const cpuFile = `${rootDir}/cpu_manager_state`;
    node.put(burstable('shared'));
    await node.untilReady('shared');
    await node.advance(15_000);
    const before = node.line.of('updateContainerResources').length;
    node.put(asking('a', '2', '1Gi'));
    await node.untilReady('a');
    const [own] = machine.running('a');
    expect(node.line.of('createContainer').at(-1)?.request).toMatchObject({
      config: { linux: { resources: { cpusetCpus: '1-2' } } },
    });
    await node.advance(60_000);
    const [shared] = machine.running('shared');
    const calls = node.line.of('updateContainerResources').slice(before);
    expect(calls.map(({ request }) => request)).toEqual([
      { containerId: shared!.id, linux: { cpusetCpus: '0,3-7' } },
    ]);
    const file = await outside.text(cpuFile);
    machine.exitContainer(own!.id, 1);
    await node.until('another runs', () => machine.running('a').some(({ id }) => id !== own!.id));
    expect((await bound(machine))['a/app']).toBe('1-2/0');
    expect(await outside.text(cpuFile)).toBe(file);
  });

  it('are not those that are reserved for the system and for Kubernetes together', async () => {
    const { node } = await start({
      kubelet: {
        config: {
          topologyManagerPolicy: 'none',
          systemReserved: { cpu: '500m', memory: '1Gi' },
          kubeReserved: { cpu: '1500m' },
        },
      },
    });
    node.put(asking('a', '7', '1Gi'));
    await node.untilPhase('a', 'Failed');
    expect(node.status('a')).toMatchObject({
      reason: 'UnexpectedAdmissionError',
      message:
        'Pod was rejected: Allocate failed due to not enough cpus available to satisfy request: requested=7, available=6, which is unexpected',
    });
    node.put(asking('b', '6', '1Gi'));
    await node.untilReady('b');
  });
});

describe('a machine with more NUMA nodes than can be aligned', () => {
  it('starts where nothing is aligned, and is refused where it is', async () => {
    const { node } = await start({ nodes: 9, kubelet: { config: { topologyManagerPolicy: 'none' } } });
    node.put(asking('a', '3', '2Gi'));
    await node.untilReady('a');
    await expect(start({ nodes: 9 })).rejects.toThrow('unsupported on machines with more than 8 NUMA Nodes');
  });
});

describe('memory', () => {
  it('of an init container goes back when the next container is created', async () => {
    const { node, outside } = await start();
    const pod = apiPod('a', {
      init: [containerOf('init', '1', '3Gi')],
      containers: [containerOf('app', '1', '1Gi')],
      sim: { 'init.run-time': '10s' },
    });
    node.put(pod);
    await node.until('the init container runs', () => node.machine.running('a').length === 1);
    expect(await freeGi(outside)).toEqual([0, 4]);
    await node.untilReady('a');
    expect(await freeGi(outside)).toEqual([2, 4]);
  });

  it('of a pod goes back when the pod is gone', async () => {
    const { node, outside } = await start();
    node.put(asking('a', '1', '3Gi'));
    await node.untilReady('a');
    node.drop('a');
    await node.untilStopped('a');
    node.put(asking('b', '1', '1Gi'));
    await node.untilReady('b');
    expect(await freeGi(outside)).toEqual([2, 4]);
  });

  it('stays with a pod that a source has not told of yet after a restart', async () => {
    const first = await start({ sources: ['api', 'file'] });
    first.node.put(asking('a', '1', '2Gi'), 'file');
    first.node.put(asking('b', '1', '1Gi'), 'api');
    await first.node.untilReady('a');
    await first.node.untilReady('b');
    await first.crash();
    const { node, outside } = await start({ ...first, sources: ['api', 'file'] });
    node.put(asking('b', '1', '1Gi'), 'api');
    await node.untilReady('b');
    expect(Object.keys((await stateOf(outside)).entries ?? {}).sort()).toEqual(['uid-of-a', 'uid-of-b']);
  });
});

describe('a crash', () => {
  const pods = [asking('a', '2', '2Gi'), asking('b', '3', '2Gi')];
  const bothRun = ({ machine }: { readonly machine: Machine }): boolean => machine.running().length === 2;

  /** Starts pods on a kubelet that dies, then again on the next one: each container is where the files say, and was. */
  async function expectSurvived(place: string, fatal: VolumeNodeOptions): Promise<void> {
    const first = await start(fatal);
    for (const pod of pods) first.node.put(pod);
    await first.node.advance(1000);
    await first.crash();
    const ran = await bound(first.machine);
    const next = await start({ files: first.files, machine: first.machine });
    for (const pod of pods) next.node.put(pod);
    await next.node.until('both run', () => bothRun(next));
    const runs = await bound(next.machine);
    expect(runs, place).toMatchObject(ran);
    const { entries = {} } = await stateOf(next.outside);
    for (const name of ['a', 'b']) {
      const nodes = entries[`uid-of-${name}`]?.app?.[0]?.numaAffinity.join(',');
      expect(runs[`${name}/app`]?.split('/')[1], place).toBe(nodes);
    }
    expect(next.node.entries.filter(({ what }) => what === 'memory.recover')).toEqual([]);
    await next.node.stop();
  }

  it('at any change of the files leaves every container on its nodes', { timeout: 120_000 }, async () => {
    const whole = await start();
    const before = whole.host.calls.length;
    for (const pod of pods) whole.node.put(pod);
    await whole.node.until('both run', () => bothRun(whole));
    const changes = whole.host.calls
      .slice(before)
      .flatMap(({ path }, index) => (path.includes('_manager_state') ? [index + 1] : []));
    expect(changes.length).toBeGreaterThan(6);
    for (const change of changes) {
      for (const when of ['before', 'after'] as const)
        await expectSurvived(`${when} change ${change}`, { death: { change, when } });
    }
  });

  it('at any call of the runtime leaves every container on its nodes', { timeout: 120_000 }, async () => {
    const whole = await start();
    for (const pod of pods) whole.node.put(pod);
    await whole.node.until('both run', () => bothRun(whole));
    const calls = whole.node.line.calls.flatMap(({ method }, index) =>
      /^(createContainer|startContainer)$/.test(method) ? [index + 1] : [],
    );
    expect(calls).toHaveLength(4);
    for (const call of calls) {
      for (const withEffect of [false, true])
        await expectSurvived(`call ${call} ${withEffect}`, { cut: { call, withEffect } });
    }
  });
});

describe('a file that other kubelets would not start with', () => {
  it.each([
    [
      'of another reservation',
      (text: string) => text,
      { reservedMemory: [{ numaNode: 1, limits: { memory: '1Gi' } }] },
      'the expected machine state is different',
    ],
    [
      'with a wrong checksum',
      (text: string) => text.replace(/"dataChecksum":\d+/, '"dataChecksum":1'),
      {},
      'checkpoint is corrupted',
    ],
    ['cut', (text: string) => text.slice(0, 100), {}, 'could not restore state from checkpoint'],
  ])('%s: pods run on, on their nodes', async (_, change, changed, problem) => {
    const first = await start();
    first.node.put(asking('a', '3', '2Gi'));
    first.node.put(asking('b', '3', '2Gi'));
    await first.node.untilReady('a');
    await first.node.untilReady('b');
    const before = await bound(first.machine);
    expect(before).toEqual({ 'a/app': '1-3/0', 'b/app': '4-6/1' });
    await first.crash();
    await first.outside.write(memoryState, change((await first.outside.text(memoryState)) ?? ''));
    const { node, machine, outside } = await start({
      files: first.files,
      machine: first.machine,
      kubelet: { config: changed },
    });
    // The other order: whoever comes first must not get the nodes of the other.
    node.put(asking('b', '3', '2Gi'));
    node.put(asking('a', '3', '2Gi'));
    await node.untilReady('a');
    await node.untilReady('b');
    expect(await bound(machine)).toEqual(before);
    const told = node.entries.find(({ what }) => what === 'event.MemoryManagerStateRebuilt');
    expect(told?.event).toMatchObject({ type: 'Warning' });
    expect(told?.message).toContain(problem);
    const { entries } = await stateOf(outside);
    expect(entries?.['uid-of-a']?.app?.[0]?.numaAffinity).toEqual([0]);
    expect(entries?.['uid-of-b']?.app?.[0]?.numaAffinity).toEqual([1]);
  });
});

describe('a pod deleted by force', () => {
  const slow = (name: string): Pod =>
    apiPod(name, { containers: [containerOf('app', '3', '2Gi')], sim: { 'stop-delay': '1s' } });

  it('holds its CPUs and memory while its containers stop, and the next pod waits for them', async () => {
    const { node, machine } = await start({ nodes: 1 });
    node.put(slow('a'));
    await node.untilReady('a');
    node.set([asking('b', '3', '2Gi')]);
    await node.until('a is told to stop', () => node.recorded('pod.terminating', 'a').length > 0);
    await node.advance(500);
    expect(await bound(machine)).toEqual({ 'a/app': '1-3/0' });
    expect(node.status('b')?.phase).toBe('Pending');
    await node.untilReady('b');
    expect(await bound(machine)).toEqual({ 'b/app': '1-3/0' });
  });

  it('is not waited for where there is room beside it', async () => {
    const { node, machine } = await start();
    node.put(slow('a'));
    await node.untilReady('a');
    node.set([asking('b', '3', '2Gi')]);
    await node.untilReady('b');
    expect(await bound(machine)).toEqual({ 'a/app': '1-3/0', 'b/app': '4-6/1' });
  });
});

describe('cpuManagerPolicy none after static', () => {
  it('lets containers that run use all CPUs, once', async () => {
    const first = await start();
    first.node.put(asking('a', '3', '2Gi'));
    await first.node.untilReady('a');
    await first.crash();
    const again = { files: first.files, machine: first.machine };
    const none = { kubelet: { config: { cpuManagerPolicy: 'none' } } };
    const { node, machine, crash } = await start({ ...again, ...none });
    node.put(asking('a', '3', '2Gi'));
    await node.untilReady('a');
    node.put(asking('b', '3', '2Gi'));
    await node.untilReady('b');
    expect(await bound(machine)).toEqual({ 'a/app': '0-7/0', 'b/app': '/1' });
    expect(node.entries.filter(({ what }) => what === 'cpu.update')).toMatchObject([
      {
        message: 'let app use all CPUs: 0-7',
        because: 'cpuManagerPolicy is none now, and no container has CPUs of its own any more',
        pod: { name: 'a', namespace: 'default', uid: 'uid-of-a' },
      },
    ]);
    const updates = node.line.calls.filter(({ method }) => method === 'updateContainerResources');
    expect(updates).toHaveLength(1);
    await crash();
    const last = await start({ ...again, ...none });
    last.node.put(asking('a', '3', '2Gi'));
    await last.node.untilReady('a');
    expect(last.node.entries.filter(({ what }) => what === 'cpu.update')).toEqual([]);
  });
});

describe('policies none after static', () => {
  const free = { cpuManagerPolicy: 'none', memoryManagerPolicy: 'None', reservedMemory: [] };
  /** Two pods bound by an agent that is gone. */
  const boundPods = async (): Promise<
    Pick<VolumeNodeOptions, 'files' | 'machine'> & { machine: Machine }
  > => {
    const { node, files, machine, crash } = await start();
    for (const name of ['a', 'b']) {
      node.put(asking(name, '3', '2Gi'));
      await node.untilReady(name);
    }
    await crash();
    return { files, machine };
  };
  const wanted = { 'a/app': '0-7/0-1', 'b/app': '0-7/0-1' };
  /** The first agent without the policies, which dies before a change of files, or with a call of the runtime. */
  const story = async (
    world: Awaited<ReturnType<typeof boundPods>>,
    { change, ...more }: Partial<NodeOptions> & { change?: number } = {},
  ) => {
    const { node, host, crash } = await start({ ...world, ...more, kubelet: { config: free } });
    const at = change ?? Number.POSITIVE_INFINITY;
    host.inject({ at, when: 'before', effect: { kind: 'run', action: () => node.line.cut() } });
    host.inject({ at, when: 'before', effect: { kind: 'die' } });
    for (const name of ['a', 'b']) node.put(asking(name, '3', '2Gi'));
    await node.advance(20_000);
    await crash();
    return { changes: host.calls.at(-1)?.number ?? 0, calls: node.line.calls };
  };
  const goesOn = async (world: Awaited<ReturnType<typeof boundPods>>): Promise<void> => {
    await story(world);
    expect(await bound(world.machine)).toEqual(wanted);
    // All of it is done, so that the next agent has nothing to do.
    const { calls } = await story(world);
    expect(calls.filter(({ method }) => method === 'updateContainerResources')).toEqual([]);
  };

  it('let containers use all CPUs and all NUMA nodes, once', async () => {
    await goesOn(await boundPods());
  });

  it('let them also if the agent dies before any change of a file', async () => {
    const { changes } = await story(await boundPods());
    expect(changes).toBeGreaterThan(4);
    for (let change = 1; change <= changes; change++) {
      const world = await boundPods();
      await story(world, { change });
      await goesOn(world);
      await endNodes();
    }
  }, 120_000);

  it('let them also if the agent dies with a call of the runtime', async () => {
    const { calls } = await story(await boundPods());
    const cuts = calls.flatMap(({ method }, n) => (method === 'updateContainerResources' ? [n + 1] : []));
    expect(cuts).toHaveLength(4);
    for (const call of cuts) {
      for (const withEffect of [false, true]) {
        const world = await boundPods();
        await story(world, { cut: { call, withEffect } });
        await goesOn(world);
        await endNodes();
      }
    }
  }, 120_000);
});

describe('a setting that no start can be made with', () => {
  it.each([
    [
      { reservedMemory: [{ numaNode: 5, limits: { memory: '1Gi' } }] },
      'reservedMemory (--reserved-memory): the reserved memory configuration references a NUMA node 5 that does not exist on this machine',
    ],
    [
      { evictionHard: { 'memory.available': '100Mi' } },
      'the total amount "1Gi" of type "memory" is not equal to the value "1124Mi" determined by Node Allocatable feature',
    ],
    [
      { topologyManagerPolicyOptions: { x: '1' } },
      'topologyManagerPolicyOptions (--topology-manager-policy-options): unknown Topology Manager Policy option: "x"',
    ],
  ])('%j', async (changed, message) => {
    await expect(start({ kubelet: { config: changed } })).rejects.toThrow(message);
  });

  it('does not matter to a node that binds nobody', async () => {
    const node = await startNode({ kubelet: { config: { topologyManagerPolicyOptions: { x: '1' } } } });
    node.put(asking('a', '1', '1Gi'));
    await node.untilReady('a');
  });
});
