/** Which NUMA nodes could serve a container or a pod. */
import { describe, expect, it } from 'vitest';
import { big80, testMachine, twoNodes } from '../machine-topology/test-machines.js';
import { positionsIn, type ResourceHints } from '../topology-manager/index.js';
import { cpuPod, testCpuNode } from './test-cpu-node.js';

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

  it('a node that could serve the whole request is no hint if CPUs to use again lie elsewhere', async () => {
    const node = await testCpuNode({ machine: twoNodes });
    const pod = cpuPod('p', 'init:i=2 a=4');
    node.manager.allocate(pod, pod.spec.initContainers![0]!, { mask: 0b01, preferred: true });
    expect(shown(node.manager.containerHints(pod, pod.spec.containers[0]!))).toBe('01');
  });

  it('more than one node has is preferred on both', async () => {
    expect(hintsOf(await testCpuNode({ machine: twoNodes }), 'p', 'c=6')).toBe('01!');
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
