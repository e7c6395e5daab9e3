/** Policy static and none: reservations, options, allocations, hints and stale state, as a node does them. */
import { describe, expect, it } from 'vitest';
import {
  big80,
  dual12,
  ht8,
  machineOfNodes,
  testMachine,
  twoNodes,
  unc16,
} from '../machine-topology/test-machines.js';
import type { ResourceHints } from '../topology-manager/index.js';
import { positionsIn } from '../topology-manager/index.js';
import { cpuTopology } from './cpu-topology.js';
import { checkSocketAlignment, readStaticPolicyOptions } from './policy-options.js';
import { cpuPod, type TestCpuNodeOptions, testCpuNode } from './test-cpu-node.js';

describe('reservations', () => {
  it.each<[string, Partial<TestCpuNodeOptions>, string]>([
    ['half a CPU is one CPU', { reservedMillis: 500 }, '0'],
    ['two CPUs are a core', { reservedMillis: 2000 }, '0,4'],
    ['those that are named', { reservedMillis: 2000, reservedCpus: '0-1' }, '0-1'],
  ])('%s', async (_, options, reserved) => {
    const node = await testCpuNode({ machine: ht8, ...options });
    expect(String(node.policy?.reserved)).toBe(reserved);
    expect(node.shared).toBe('0-7');
  });

  it.each<[Partial<TestCpuNodeOptions>, string]>([
    [{ reservedMillis: 0 }, '[cpumanager] unable to determine reserved CPU resources for static policy'],
    [
      { reservedMillis: 3000, reservedCpus: '0-1' },
      '[cpumanager] unable to reserve the required amount of CPUs (size of 0-1 did not equal 3)',
    ],
    [
      { reservedMillis: 9000 },
      '[cpumanager] unable to reserve the required amount of CPUs (size of  did not equal 9)',
    ],
  ])('%o: %s', async (options, message) => {
    const failure = await testCpuNode({ machine: ht8, ...options }).catch((error: Error) => error);
    expect(failure).toMatchObject({ text: message });
    expect(String(failure)).toContain('systemReserved.cpu');
  });

  it('strictly reserved CPUs are not shared', async () => {
    const node = await testCpuNode({ machine: ht8, options: { 'strict-cpu-reservation': 'true' } });
    expect(node.shared).toBe('1-7');
  });
});

describe('options', () => {
  const all = { alphaOptions: true, betaOptions: true };
  const conflict = (first: string, second: string): string =>
    `new static policy error: static policy options ${first} and ${second} can not be used at the same time`;
  it.each<[Record<string, string>, string]>([
    [{ x: 'true' }, 'new static policy error: unknown CPU Manager Policy option: "x"'],
    [
      { 'full-pcpus-only': 'yes' },
      'new static policy error: bad value for option "full-pcpus-only": strconv.ParseBool: parsing "yes": invalid syntax',
    ],
    [
      { 'full-pcpus-only': 'true', 'distribute-cpus-across-cores': 'true' },
      conflict('full-pcpus-only', 'distribute-cpus-across-cores'),
    ],
    [
      { 'distribute-cpus-across-numa': '1', 'distribute-cpus-across-cores': 'T' },
      conflict('distribute-cpus-across-numa', 'distribute-cpus-across-cores'),
    ],
    [
      { 'prefer-align-cpus-by-uncorecache': 't', 'distribute-cpus-across-cores': 'TRUE' },
      conflict('prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'),
    ],
    [
      { 'prefer-align-cpus-by-uncorecache': 'True', 'distribute-cpus-across-numa': 'true' },
      conflict('prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'),
    ],
  ])('%o is refused', (given, message) => expect(() => readStaticPolicyOptions(given, all)).toThrow(message));

  it.each([
    ['align-by-socket', 'Alpha'],
    ['distribute-cpus-across-cores', 'Alpha'],
    ['distribute-cpus-across-numa', 'Beta'],
  ])('%s needs its gate', (option, stage) =>
    expect(() =>
      readStaticPolicyOptions({ [option]: 'false' }, { alphaOptions: false, betaOptions: false }),
    ).toThrow(
      `new static policy error: CPU Manager Policy ${stage}-level Options not enabled, but option "${option}" provided`,
    ),
  );

  it('an option that is off conflicts with nothing', () => {
    const options = readStaticPolicyOptions(
      { 'full-pcpus-only': 'true', 'distribute-cpus-across-cores': 'false' },
      all,
    );
    expect(options).toMatchObject({ fullPcpusOnly: true, acrossCores: false });
  });

  it('align-by-socket fits neither single-numa-node nor more sockets than nodes', () => {
    const options = readStaticPolicyOptions({ 'align-by-socket': 'true' }, all);
    expect(() => checkSocketAlignment(options, cpuTopology(ht8), 'single-numa-node')).toThrow(
      'new static policy error: Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option',
    );
    const sockets = testMachine({ cores: 4, socket: (core) => core % 2 });
    expect(() => checkSocketAlignment(options, cpuTopology(sockets), 'none')).toThrow(
      'new static policy error: Align by socket is not compatible with hardware where number of sockets are more than number of NUMA',
    );
    expect(() => checkSocketAlignment(options, cpuTopology(big80), 'restricted')).not.toThrow();
  });

  it('policy none has no options', async () => {
    await expect(
      testCpuNode({ machine: ht8, policy: 'none', options: { 'full-pcpus-only': 'true' } }),
    ).rejects.toThrow(
      'cpuManagerPolicyOptions (--cpu-manager-policy-options): new none policy error: None policy: received unsupported options=map[full-pcpus-only:true]',
    );
  });
});

describe('allocation', () => {
  it('a Guaranteed container gets its CPUs, and the others share the rest', async () => {
    const node = await testCpuNode({ machine: ht8 });
    const pod = cpuPod('p1', 'c1=2');
    expect(node.admit(pod)).toBe('allocated');
    expect([node.cpus('p1', 'c1'), node.shared]).toEqual(['1,5', '0,2-4,6-7']);
    expect(JSON.parse(await node.file())).toMatchObject({ checksum: 3836207222, dataChecksum: 933126825 });
    expect(node.manager.hasExclusiveCpus(pod, pod.spec.containers[0])).toBe(true);
    expect(node.manager.hasExclusiveCpus(pod)).toBe(true);
    expect(node.poolChanges).toBe(1);
  });

  it.each<[rule: string, pod: Parameters<typeof cpuPod>, options: Partial<TestCpuNodeOptions>]>([
    ['part of a CPU', ['p', 'c=1500m'], {}],
    ['no request', ['p', 'c=-'], {}],
    ['CPUs of a pod with resources of its own', ['p', 'c=2', podLevel('2')], {}],
    ['under policy none', ['p', 'c=2'], { policy: 'none' }],
  ])('shared: %s', async (_, args, options) => {
    const node = await testCpuNode({ machine: ht8, ...options });
    const pod = cpuPod(...args);
    expect(node.admit(pod)).toBe('allocated');
    expect(node.cpus('p', 'c')).toBe(options.policy === 'none' ? '' : '0-7');
    expect(node.manager.hasExclusiveCpus(pod)).toBe(false);
    expect(node.registry.text()).not.toMatch(/pinning_requests_total [1-9]/);
  });

  it('shared: a Burstable pod, whatever its status says by itself', async () => {
    const node = await testCpuNode({ machine: ht8 });
    const pod = cpuPod('p', 'c=2');
    expect(node.admit({ ...pod, status: { qosClass: 'Burstable' } })).toBe('allocated');
    expect(node.cpus('p', 'c')).toBe('0-7');
  });

  it.each<[string, string, Record<string, string>, string]>([
    ['init 4, app 2: the app uses CPUs of init', 'init:i=4 a=2', { i: '1-2,5-6', a: '1,5' }, '0,3-4,7'],
    ['init 1, app 2: packing decides', 'init:i=1 a=2', { i: '4', a: '1,5' }, '0,2-3,6-7'],
    ['a sidecar keeps its own', 'sidecar:s=2 a=2', { s: '1,5', a: '2,6' }, '0,3-4,7'],
    ['two apps share nothing', 'init:i=4 a=2 b=2', { i: '1-2,5-6', a: '1,5', b: '2,6' }, '0,3-4,7'],
  ])('%s', async (_, containers, expected, shared) => {
    const node = await testCpuNode({ machine: ht8 });
    expect(node.admit(cpuPod('p', containers))).toBe('allocated');
    const given = Object.fromEntries(Object.keys(expected).map((name) => [name, node.cpus('p', name)]));
    expect({ ...given, shared: node.shared }).toEqual({ ...expected, shared });
  });

  it('CPUs of another pod are not used again', async () => {
    const node = await testCpuNode({ machine: ht8 });
    node.admit(cpuPod('p', 'init:i=4 a=2'));
    node.admit(cpuPod('q', 'c=1'));
    expect(node.cpus('q', 'c')).toBe('4');
  });

  it.each<[string, Partial<TestCpuNodeOptions>, string[], string]>([
    [
      'more than there are',
      { reservedMillis: 2000 },
      ['c=7'],
      'UnexpectedAdmissionError: not enough cpus available to satisfy request: requested=7, available=6',
    ],
    [
      'half a core of full cores',
      { options: { 'full-pcpus-only': 'true' } },
      ['c=3'],
      'SMTAlignmentError: SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2',
    ],
    [
      'more full cores than there are',
      { options: { 'full-pcpus-only': 'true' } },
      ['c=4', 'c=4'],
      'SMTAlignmentError: SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 2, requested CPUs = 4, CPUs per core = 2',
    ],
  ])('refused: %s', async (_, options, pods, message) => {
    const node = await testCpuNode({ machine: ht8, ...options });
    const outcomes = pods.map((containers, index) => node.admit(cpuPod(`p${index}`, containers)));
    expect(outcomes.at(-1)).toBe(message);
    expect(node.registry.text()).toContain('kubelet_cpu_manager_pinning_errors_total 1');
  });

  it('a container that has its CPUs keeps them, whatever it asks for now', async () => {
    const node = await testCpuNode({ machine: ht8 });
    node.admit(cpuPod('p', 'c=3'));
    const before = node.cpus('p', 'c');
    expect(node.admit(cpuPod('p', 'c=3'))).toBe('allocated');
    await node.file();
    const options = { 'full-pcpus-only': 'true' };
    const later = await testCpuNode({ machine: ht8, host: node.host, options });
    expect(later.admit(cpuPod('p', 'c=3'))).toBe('allocated');
    expect(later.cpus('p', 'c')).toBe(before);
  });

  it('near the nodes of the hint first, then where there is room', async () => {
    const node = await testCpuNode({ machine: twoNodes });
    node.admit(cpuPod('p', 'c=2'), 0b10);
    node.admit(cpuPod('q', 'c=4'), 0b10);
    expect([node.cpus('p', 'c'), node.cpus('q', 'c')]).toEqual(['4-5', '1-2,6-7']);
  });
});

describe('hints', () => {
  const shown = (hints: ResourceHints | undefined): string =>
    hints === undefined
      ? 'none'
      : (hints.get('cpu') ?? [])
          .map(({ mask = 0, preferred }) => `${positionsIn(mask).join('')}${preferred ? '!' : ''}`)
          .join(' ');
  const hintsOf = (
    node: Awaited<ReturnType<typeof testCpuNode>>,
    uid: string,
    containers: string,
  ): string => {
    const pod = cpuPod(uid, containers);
    return shown(node.manager.containerHints(pod, pod.spec.containers[0]!));
  };

  it('a node with one free CPU cannot serve two', async () => {
    const node = await testCpuNode({ machine: twoNodes, reservedMillis: 1000 });
    node.admit(cpuPod('p', 'c=2'), 0b01);
    expect(hintsOf(node, 'q', 'c=2')).toBe('1! 01');
    expect(hintsOf(node, 'q', 'c=5')).toBe('01!');
    expect(hintsOf(node, 'q', 'c=7')).toBe('');
    expect(hintsOf(node, 'q', 'c=500m')).toBe('none');
  });

  it('a container that has CPUs hints at exactly these', async () => {
    const node = await testCpuNode({ machine: twoNodes });
    node.admit(cpuPod('p', 'c=2'), 0b10);
    expect(hintsOf(node, 'p', 'c=2')).toBe('1! 01');
    expect(hintsOf(node, 'p', 'c=4')).toBe('');
  });

  it('CPUs to use again must be in the mask', async () => {
    const node = await testCpuNode({ machine: twoNodes });
    const pod = cpuPod('p', 'init:i=2 a=2');
    node.manager.allocate(pod, pod.spec.initContainers![0]!, { mask: 0b01, preferred: true });
    expect(shown(node.manager.containerHints(pod, pod.spec.containers[0]!))).toBe('0! 01');
  });

  it('aligned by socket, both nodes of a socket are preferred', async () => {
    const node = await testCpuNode({
      machine: big80,
      options: { 'align-by-socket': 'true' },
      reservedMillis: 1000,
    });
    node.admit(cpuPod('p', 'c=9'), 0b0001);
    const hints = hintsOf(node, 'q', 'c=20').split(' ');
    expect(hints.filter((hint) => hint.endsWith('!'))).toEqual(['1!', '2!', '3!', '01!', '23!']);
    expect(hints).toContain('12');
  });

  it('a node without CPUs is in no mask', async () => {
    const machine = testMachine({ cores: 4, node: (core) => (core < 2 ? 0 : 5), emptyNodes: [3] });
    const node = await testCpuNode({ machine });
    expect(hintsOf(node, 'p', 'c=1')).toBe('0! 2! 02');
  });

  it.each([
    ['all apps and sidecars together', 'sidecar:s=1 a=1 b=1', '0! 1! 01'],
    ['an init container beside its sidecars', 'sidecar:s=1 init:i=3 a=1', '01'],
    ['nothing exclusive', 'a=500m', 'none'],
  ])('of a pod: %s', async (_, containers, expected) => {
    const node = await testCpuNode({ machine: twoNodes, reservedMillis: 1000 });
    node.admit(cpuPod('x', 'c=1'), 0b10);
    expect(shown(node.manager.podHints(cpuPod('p', containers)))).toBe(expected);
  });

  it('of a pod that has its CPUs', async () => {
    const node = await testCpuNode({ machine: twoNodes });
    node.admit(cpuPod('p', 'a=1 b=1'), 0b10);
    expect(shown(node.manager.podHints(cpuPod('p', 'a=1 b=1')))).toBe('1! 01');
    expect(shown(node.manager.podHints(cpuPod('p', 'a=2 b=1')))).toBe('');
    expect(shown(node.manager.podHints(cpuPod('p', 'a=1 b=1 c=1')))).toBe('1! 01');
  });
});

describe('stale state', () => {
  it('CPUs of a pod that is gone are free at the next admission', async () => {
    const node = await testCpuNode({ machine: ht8 });
    node.admit(cpuPod('p', 'c=6'));
    node.active.delete('p');
    expect(node.admit(cpuPod('q', 'c=6'))).toBe('allocated');
    expect(JSON.parse(JSON.parse(await node.file()).data).entries).toEqual({ q: { c: '1-3,5-7' } });
  });

  it('nothing is given back before all sources have delivered', async () => {
    const node = await testCpuNode({ machine: ht8 });
    node.admit(cpuPod('p', 'c=2'));
    node.active.delete('p');
    node.sourcesReady = false;
    node.manager.removeStale();
    expect(node.shared).toBe('0,2-4,6-7');
    node.sourcesReady = true;
    node.manager.removeStale();
    expect(node.shared).toBe('0-7');
  });

  it('a pod that is being admitted keeps what it has; a refused one does not', async () => {
    const node = await testCpuNode({ machine: ht8 });
    const pod = cpuPod('p', 'a=2 b=9');
    const hint = { mask: undefined, preferred: true };
    node.manager.allocate(pod, pod.spec.containers[0]!, hint);
    node.manager.removeStale();
    expect(node.cpus('p', 'a')).toBe('1,5');
    expect(node.manager.allocate(pod, pod.spec.containers[1]!, hint).kind).toBe('refused');
    node.manager.admissionEnded('p');
    node.manager.removeStale();
    expect(node.shared).toBe('0-7');
  });

  it('a container that the pod no longer has gives its CPUs back, not those of its siblings', async () => {
    const node = await testCpuNode({ machine: ht8 });
    node.admit(cpuPod('p', 'init:i=4 a=2'));
    node.active.set('p', cpuPod('p', 'a=2'));
    node.manager.removeStale();
    expect([node.shared, node.cpus('p', 'a')]).toEqual(['0,2-4,6-7', '1,5']);
  });
});

describe('metrics', () => {
  it('tell of the pool, of what is given and where, and how it is aligned', async () => {
    const node = await testCpuNode({
      machine: dual12,
      options: { 'full-pcpus-only': 'true' },
      reservedMillis: 1000,
    });
    const value = (name: string): string | undefined =>
      new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (.*)$`, 'm').exec(node.registry.text())?.[1];
    expect(value('kubelet_cpu_manager_shared_pool_size_millicores')).toBe('11000');
    node.admit(cpuPod('p', 'c=2'));
    node.admit(cpuPod('q', 'c=3'));
    expect(value('kubelet_cpu_manager_shared_pool_size_millicores')).toBe('9000');
    expect(value('kubelet_cpu_manager_exclusive_cpu_allocation_count')).toBe('2');
    expect(value('kubelet_cpu_manager_allocation_per_numa{numa_node="0"}')).toBe('2');
    expect(value('kubelet_cpu_manager_allocation_per_numa{numa_node="1"}')).toBeUndefined();
    expect(value('kubelet_cpu_manager_pinning_requests_total')).toBe('2');
    const text = node.registry.text();
    expect(text).toMatch(/aligned_compute_resources_count\{.*physical_cpu.*\} 1/);
    expect(text).toMatch(/aligned_compute_resources_failure_count\{.*physical_cpu.*\} 1/);
    expect(text).toMatch(/aligned_compute_resources_count\{.*uncore_cache.*\} 1/);
  });
});

describe('pods with resources of their own, with their gate', () => {
  const admitWhole = async (containers: string, cpu: string, machine = ht8) => {
    const node = await testCpuNode({ machine, podLevel: true });
    const pod = cpuPod('p', containers, podLevel(cpu));
    const outcome = node.manager.allocatePod(pod, { mask: undefined, preferred: true });
    node.active.set('p', pod);
    node.manager.admissionEnded('p');
    return { node, pod, outcome };
  };

  it.each<[string, string, string, Record<string, string>]>([
    [
      'exclusive containers take theirs, the others share the rest',
      'a=2 b=- c=-',
      '4',
      { a: '1,5', b: '2,6', c: '2,6' },
    ],
    [
      'a sidecar keeps its CPUs from init containers',
      'sidecar:s=2 init:i=- a=-',
      '4',
      { s: '1,5', i: '2,6', a: '2,6' },
    ],
    [
      'an exclusive init container is no burden for later ones',
      'init:i=2 a=4',
      '4',
      { i: '1,5', a: '1-2,5-6' },
    ],
  ])('%s', async (_, containers, cpu, expected) => {
    const { node, outcome } = await admitWhole(containers, cpu);
    expect(outcome.kind).toBe('allocated');
    const given = Object.fromEntries(Object.keys(expected).map((name) => [name, node.cpus('p', name)]));
    expect(given).toEqual(expected);
    expect(node.shared).toBe('0,3-4,7');
    expect(JSON.parse(JSON.parse(await node.file()).data).podEntries).toEqual({ p: { cpuSet: '1-2,5-6' } });
  });

  it.each([
    [
      'a=2 b=-',
      'pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers',
    ],
    [
      'sidecar:s=2 init:i=- a=0',
      'pod rejected, pod has shared init containers but no cpus available for them',
    ],
  ])('%s of 2 CPUs is refused', async (containers, message) => {
    const { node, pod, outcome } = await admitWhole(containers, '2');
    expect(outcome).toEqual({ kind: 'refused', reason: 'EmptyPodSharedPoolError', message });
    expect(node.shared).toBe('0-7');
    expect(node.manager.podHints(pod)?.get('cpu')).toEqual([]);
  });

  it('quota is off for the pod only if all its containers have CPUs of their own', async () => {
    const mixed = await admitWhole('a=2 b=-', '4');
    expect(mixed.node.manager.hasExclusiveCpus(mixed.pod)).toBe(false);
    expect(mixed.node.manager.hasExclusiveCpus(mixed.pod, mixed.pod.spec.containers[0])).toBe(true);
    const all = await admitWhole('a=2 b=2', '4');
    expect(all.node.manager.hasExclusiveCpus(all.pod)).toBe(true);
  });

  it('all is given back with the last container', async () => {
    const { node } = await admitWhole('a=2 b=-', '4', machineOfNodes(2));
    node.active.delete('p');
    node.manager.removeStale();
    expect(node.manager.state.podEntries.size).toBe(0);
    expect(node.shared).toBe('0-15');
  });

  it('in scope container, exclusive containers get theirs from the node', async () => {
    const node = await testCpuNode({ machine: unc16, podLevel: true });
    expect(node.admit(cpuPod('p', 'a=2 b=-', podLevel('4')))).toBe('allocated');
    expect([node.cpus('p', 'a'), node.cpus('p', 'b')]).toEqual(['1-2', '0,3-15']);
  });
});

function podLevel(cpu: string) {
  const amounts = { cpu, memory: '4Gi' };
  return { resources: { requests: amounts, limits: amounts } };
}
