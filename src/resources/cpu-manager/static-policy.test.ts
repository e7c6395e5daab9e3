/** Policy static: reservations, allocations and stale state, as a node does them. */
import { describe, expect, it } from 'vitest';
import { dual12, ht8, twoNodes } from '../machine-topology/test-machines.js';
import { cpuPod, podLevel, type TestCpuNodeOptions, testCpuNode } from './test-cpu-node.js';

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

describe('stale state', () => {
  it('CPUs of a pod that is gone stay its own while its containers run', async () => {
    const node = await testCpuNode({ machine: ht8 });
    expect(node.admit(cpuPod('a', 'c=2'))).toBe('allocated');
    const held = node.cpus('a', 'c');
    node.active.delete('a');
    node.stopping.add('a');
    node.manager.removeStale();
    expect(node.cpus('a', 'c')).toBe(held);
    node.stopping.delete('a');
    node.manager.removeStale();
    expect(node.shared).toBe('0-7');
  });

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
