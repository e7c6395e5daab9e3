/** CPUs of pods that have them as a whole. */
import { describe, expect, it } from 'vitest';
import { ht8, machineOfNodes, unc16 } from '../machine-topology/test-machines.js';
import { cpuPod, podLevel, testCpuNode } from './test-cpu-node.js';

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

  const counted = (node: Awaited<ReturnType<typeof testCpuNode>>): readonly string[] =>
    (node.registry.text().match(/^kubelet_resource_manager_.*$/gm) ?? []).map((line) =>
      line.replace('kubelet_resource_manager_', ''),
    );

  it('counts what the pod got, and how each container holds it', async () => {
    const { node, pod } = await admitWhole('init:i=- a=2 b=- c=-', '4');
    const expected = [
      'allocations_total{resource_name="cpu",source="pod"} 1',
      'container_assignments_total{resource_name="cpu",assignment_type="pod_shared"} 3',
      'container_assignments_total{resource_name="cpu",assignment_type="pod_exclusive"} 1',
    ];
    expect(counted(node)).toEqual(expected);
    node.manager.allocatePod(pod, { mask: undefined, preferred: true });
    expect(counted(node)).toEqual(expected);
  });

  it('counts what containers got of the node, and who got nothing', async () => {
    const node = await testCpuNode({ machine: ht8, podLevel: true });
    node.admit(cpuPod('p', 'a=2 b=2'));
    node.admit(cpuPod('q', 'a=6'));
    expect(counted(node)).toEqual([
      'allocation_errors_total{resource_name="cpu",source="node"} 1',
      'allocations_total{resource_name="cpu",source="node"} 2',
      'container_assignments_total{resource_name="cpu",assignment_type="node_exclusive"} 2',
    ]);
    const { node: refusing } = await admitWhole('a=2 b=-', '2');
    expect(counted(refusing)).toEqual(['allocation_errors_total{resource_name="cpu",source="pod"} 1']);
  });

  it('counts none of it without the gate', async () => {
    const node = await testCpuNode({ machine: ht8 });
    node.admit(cpuPod('p', 'a=2'));
    expect(node.registry.text()).not.toContain('kubelet_resource_manager_');
  });
});
