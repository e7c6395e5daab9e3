import { describe, expect, it } from 'vitest';
import type { Pod, ResourceList } from '../../kube/index.js';
import { gi, guaranteed, memoryMachine, mi, podOf, sidecar } from '../topology-manager/test-topology.js';
import { startMemory, type TestMemoryOptions } from './test-managers.js';

/** Two nodes of 4 GiB, of which the system has 1 GiB on the first. */
const mem2: TestMemoryOptions = {
  machine: memoryMachine([4 * gi, 4 * gi]),
  reserved: new Map([[0, new Map([['memory', gi]])]]),
};
const pod = (uid: string, memory: string, more: ResourceList = {}): Pod =>
  podOf(uid, { containers: [guaranteed('c', { memory, ...more })] });
const unexpected = (text: string): string =>
  `UnexpectedAdmissionError: Allocate failed due to [memorymanager] ${text}, which is unexpected`;
const affinity = 'TopologyAffinityError: Resources cannot be allocated with Topology locality';

describe('a container', () => {
  it('gets memory of the lowest node with room', async () => {
    const { admit, nodes, metrics } = await startMemory(mem2);
    expect(await admit(pod('a', '2Gi'))).toEqual(['0']);
    expect(nodes()).toEqual([
      [1, '0', 1],
      [4, '1', 0],
    ]);
    expect(metrics.pinningRequests.value()).toBe(1);
  });

  it('gets memory of several nodes where one is too small', async () => {
    const { admit, nodes } = await startMemory(mem2);
    expect(await admit(pod('a', '5Gi'))).toEqual(['0,1']);
    expect(nodes()).toEqual([
      [0, '0,1', 1],
      [2, '0,1', 1],
    ]);
    expect(await admit(pod('b', '1Gi'))).toEqual(['0,1']);
    expect(nodes()).toEqual([
      [0, '0,1', 2],
      [1, '0,1', 2],
    ]);
  });

  it('is refused by restricted where it would need more nodes than necessary', async () => {
    const { admit } = await startMemory({ ...mem2, topology: 'restricted' });
    expect(await admit(pod('a', '5Gi'))).toEqual(['0,1']);
    expect(await admit(pod('b', '1Gi'))).toBe(affinity);
  });

  it.each([
    [undefined, 'failed to get the default NUMA affinity, no NUMA nodes with enough memory is available'],
    ['restricted', 'failed to find NUMA nodes to extend the current topology hint'],
  ] as const)('is refused where no nodes have room, policy %s', async (topology, text) => {
    const { admit, metrics } = await startMemory({ ...mem2, topology });
    expect(await admit(pod('a', '2Gi'))).toEqual(['0']);
    expect(await admit(pod('b', '6Gi'))).toBe(unexpected(text));
    expect(metrics.pinningErrors.value()).toBe(1);
  });

  it('keeps what it has when it is admitted again', async () => {
    const { admit, nodes, metrics } = await startMemory({ ...mem2, topology: 'restricted' });
    expect(await admit(pod('a', '2Gi'))).toEqual(['0']);
    expect(await admit(pod('a', '2Gi'))).toEqual(['0']);
    expect(nodes()[0]).toEqual([1, '0', 1]);
    expect(metrics.pinningRequests.value()).toBe(2);
  });

  it('has a block for each type', async () => {
    const hugePages = [{ sizeBytes: 2 * mi, pages: 512 }];
    const { admit, memory, nodes } = await startMemory({
      machine: memoryMachine([{ memoryBytes: 4 * gi, hugePages }]),
    });
    expect(await admit(pod('a', '1Gi', { 'hugepages-2Mi': '512Mi' }))).toEqual(['0']);
    expect(memory.blocksOf('a', 'c')).toEqual([
      { numaAffinity: [0], type: 'hugepages-2Mi', size: 512 * mi },
      { numaAffinity: [0], type: 'memory', size: gi },
    ]);
    expect(nodes()).toEqual([[2, '0', 2]]);
  });

  it('among many of one pod does not wait for the disk, which is told of all at once', async () => {
    const { memory, host } = await startMemory(mem2);
    const containers = Array.from({ length: 200 }, (_, n) => guaranteed(`c${n}`, { memory: '1Mi' }));
    const many = podOf('a', { containers });
    const renames = (): number => host.calls.filter(({ operation }) => operation === 'rename').length;
    const before = renames();
    const anywhere = { mask: undefined, preferred: false };
    for (const one of many.spec.containers)
      expect(memory.allocate(many, one, anywhere)).toEqual({ kind: 'allocated' });
    await memory.written();
    expect(renames() - before).toBe(1);
  });

  it('of a pod that is not Guaranteed gets none', async () => {
    const { admit, file } = await startMemory(mem2);
    const burstable = podOf('a', { containers: [{ name: 'c', resources: { requests: { memory: '1Gi' } } }] });
    expect(await admit(burstable)).toEqual([undefined]);
    expect(JSON.parse(await file()).entries).toBeUndefined();
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('fills the nodes of a machine with %i of them', async (count) => {
    const machine = memoryMachine(Array.from({ length: count }, () => gi));
    const { admit, nodes } = await startMemory({ machine, topology: 'single-numa-node' });
    for (let id = 0; id < count; id++) expect(await admit(pod(`p${id}`, '1Gi'))).toEqual([String(id)]);
    expect(nodes()).toEqual(Array.from({ length: count }, (_, id) => [0, String(id), 1]));
    expect(await admit(pod('more', '1Gi'))).toMatch(/^UnexpectedAdmissionError/);
  });

  it('joins no group with a node that others use', async () => {
    const { admit } = await startMemory({ ...mem2, topology: 'best-effort' });
    expect(await admit(pod('a', '2Gi'))).toEqual(['0']);
    expect(await admit(pod('b', '5Gi'))).toBe(unexpected('preferred hint violates NUMA node allocation'));
  });
});

describe('init containers', () => {
  const both = (init: string, app: string): Pod =>
    podOf('p', {
      initContainers: [guaranteed('i', { memory: init })],
      containers: [guaranteed('a', { memory: app })],
    });
  const one: TestMemoryOptions = { machine: memoryMachine([4 * gi]) };
  const held = ({ memory }: Awaited<ReturnType<typeof startMemory>>, ...names: string[]): number[] =>
    names.map((name) => memory.blocksOf('p', name).reduce((sum, { size }) => sum + size, 0) / gi);

  it('leave their memory to those after them', async () => {
    const started = await startMemory(one);
    const given = both('2Gi', '1Gi');
    await started.admit(given);
    expect(held(started, 'i', 'a')).toEqual([1, 1]);
    expect(started.nodes()).toEqual([[2, '0', 2]]);
    started.memory.containerCreated(given, { name: 'i' });
    expect(held(started, 'i', 'a')).toEqual([1, 1]);
    started.memory.containerCreated(given, { name: 'a' });
    expect(held(started, 'i', 'a')).toEqual([0, 1]);
    expect(started.nodes()).toEqual([[3, '0', 1]]);
  });

  it('that have ended get no memory again after a restart', async () => {
    const started = await startMemory(one);
    const given = both('3Gi', '3Gi');
    await started.admit(given);
    started.memory.containerCreated(given, { name: 'a' });
    await started.memory.stop();
    const again = await startMemory({ ...one, host: started.host, topology: 'restricted' });
    expect(await again.admit(given)).toEqual([undefined, '0']);
    expect(again.nodes()).toEqual([[1, '0', 1]]);
  });

  it('leave nothing that a sidecar has in use', async () => {
    const started = await startMemory({ machine: memoryMachine([8 * gi]) });
    await started.admit(
      podOf('p', {
        initContainers: [
          guaranteed('i', { memory: '3Gi' }),
          sidecar('s', { memory: '1Gi' }),
          guaranteed('j', { memory: '3Gi' }),
        ],
        containers: [guaranteed('a', { memory: '2Gi' })],
      }),
    );
    expect(held(started, 'i', 's', 'j', 'a')).toEqual([0, 1, 1, 2]);
    expect(started.nodes()).toEqual([[4, '0', 4]]);
  });
});

describe('a pod that ends', () => {
  it('keeps its memory while its containers run', async () => {
    const { admit, memory, nodes } = await startMemory(mem2);
    await admit(pod('a', '5Gi'));
    const before = nodes();
    memory.keepOnly([], (uid) => uid === 'a');
    expect(nodes()).toEqual(before);
    memory.keepOnly([], () => false);
    expect(nodes()).toEqual([
      [3, '0', 0],
      [4, '1', 0],
    ]);
  });

  it('gives its memory back', async () => {
    const { admit, memory, nodes } = await startMemory(mem2);
    await admit(pod('a', '5Gi'));
    await admit(pod('b', '1Gi'));
    memory.keepOnly([pod('b', '1Gi')]);
    expect(nodes()).toEqual([
      [2, '0,1', 1],
      [4, '0,1', 1],
    ]);
    memory.keepOnly([]);
    expect(nodes()).toEqual([
      [3, '0', 0],
      [4, '1', 0],
    ]);
  });

  it('gives back what a container had that the pod has no more', async () => {
    const { admit, memory } = await startMemory(mem2);
    await admit(pod('a', '1Gi'));
    memory.keepOnly([podOf('a', { containers: [guaranteed('other', { memory: '1Gi' })] })]);
    expect(memory.memsOf('a', 'c')).toBeUndefined();
  });
});

describe('scope pod', () => {
  const two = podOf('p', {
    containers: [guaranteed('a', { memory: '2Gi' }), guaranteed('b', { memory: '2Gi' })],
  });
  it('places all containers on the same nodes', async () => {
    const { admit, memory } = await startMemory({ ...mem2, topology: 'restricted', scope: 'pod' });
    expect(memory.podHints(two)?.get('memory')).toEqual([
      { mask: 2, preferred: true },
      { mask: 3, preferred: false },
    ]);
    expect(await admit(two)).toEqual(['1', '1']);
    // A container is compared with the whole pod, which says nothing about where the pod is.
    expect(memory.podHints(two)).toBeUndefined();
    expect(await admit(two)).toEqual(['1', '1']);
  });
});

describe('a pod with resources of its own', () => {
  const list = { cpu: '4', memory: '3Gi' };
  const own = podOf('p', {
    containers: [guaranteed('a', { memory: '1Gi' }), { name: 'b', image: 'b:1' }],
    resources: { requests: list, limits: list },
  });
  const podScope: TestMemoryOptions = { ...mem2, topology: 'restricted', scope: 'pod', podLevel: true };

  it('gets none while the gate is off', async () => {
    const { admit } = await startMemory({ ...podScope, podLevel: false });
    expect(await admit(own)).toEqual([undefined, undefined]);
  });

  it('is counted once, as a whole', async () => {
    const started = await startMemory(podScope);
    expect(await started.admit(own)).toEqual(['0', '0']);
    expect(started.nodes()[0]).toEqual([0, '0', 1]);
    expect(started.memory.blocksOf('p', 'b')).toEqual([{ numaAffinity: [0], type: 'memory', size: 2 * gi }]);
    const { podEntries } = JSON.parse(JSON.parse(await started.file()).data);
    expect(podEntries).toEqual({
      p: { memoryBlocks: [{ numaAffinity: [0], type: 'memory', size: 3 * gi }] },
    });

    const { allocations, assignments } = started.podLevelMetrics;
    expect(allocations.value({ resource_name: 'memory', source: 'pod' })).toBe(1);
    for (const type of ['pod_exclusive', 'pod_shared']) {
      expect(assignments.value({ resource_name: 'memory', assignment_type: type })).toBe(1);
    }

    const again = await startMemory({ ...podScope, host: started.host });
    expect(again.setAside).toEqual([]);
    expect(await again.admit(own)).toEqual(['0', '0']);
    expect(again.nodes()[0]).toEqual([0, '0', 1]);
    again.memory.keepOnly([podOf('p', { containers: [] })]);
    expect(again.nodes()[0]).toEqual([3, '0', 0]);
  });

  it('gets memory for its exclusive containers alone in scope container', async () => {
    const { admit } = await startMemory({ ...podScope, scope: 'container' });
    expect(await admit(own)).toEqual(['0', undefined]);
  });

  it('is refused where nothing is left to share', async () => {
    const full = podOf('p', {
      ...own.spec,
      containers: [guaranteed('a', { memory: '3Gi' }), { name: 'b', image: 'b:1' }],
    });
    const strict = await startMemory(podScope);
    expect(await strict.admit(full)).toBe(
      'TopologyAffinityError: Pod Scope pod with pod-level resources failed admission under pod-scope topology manager',
    );
    const lax = await startMemory({ ...podScope, topology: 'best-effort' });
    expect(await lax.admit(full)).toBe(
      'EmptyPodSharedPoolError: pod rejected, sum of exclusive container memory requests equals pod budget, leaving no memory for shared containers',
    );
  });
});
