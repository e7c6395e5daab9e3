import { describe, expect, it } from 'vitest';
import type { Container, Pod, PodSpec } from '../../kube/index.js';
import { containerOomScoreAdj } from './oom-score.js';

const capacityBytes = 10 * 1024 ** 3;

function requesting(name: string, memory?: string): Container {
  return { name, resources: memory === undefined ? {} : { requests: { memory } } };
}

describe('containerOomScoreAdj', () => {
  const guaranteed: Container = {
    name: 'c',
    resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } },
  };
  const rows: [rule: string, spec: PodSpec, container: string, expected: number][] = [
    ['guaranteed', { containers: [guaranteed] }, 'c', -997],
    ['best effort', { containers: [requesting('c')] }, 'c', 1000],
    ['a tenth of the memory', { containers: [requesting('c', '1Gi')] }, 'c', 900],
    ['all of it', { containers: [requesting('c', '10Gi')] }, 'c', 3],
    ['more than all', { containers: [requesting('c', '20Gi')] }, 'c', 3],
    ['next to nothing stays below best effort', { containers: [requesting('c', '1Ki')] }, 'c', 999],
    [
      'none of its own in a burstable pod',
      { containers: [requesting('c'), requesting('d', '1Gi')] },
      'c',
      999,
    ],
    [
      'node critical',
      { containers: [requesting('c')], priority: 2_000_001_000, priorityClassName: 'system-node-critical' },
      'c',
      -997,
    ],
    [
      'cluster critical is not node critical',
      {
        containers: [requesting('c')],
        priority: 2_000_000_000,
        priorityClassName: 'system-cluster-critical',
      },
      'c',
      1000,
    ],
    [
      'a sidecar outlives the smallest regular container',
      {
        containers: [requesting('c', '2Gi'), requesting('d', '3Gi')],
        initContainers: [{ ...requesting('s', '1Gi'), restartPolicy: 'Always' }],
      },
      's',
      800,
    ],
    [
      'a large sidecar keeps its own score',
      {
        containers: [requesting('c', '2Gi')],
        initContainers: [{ ...requesting('s', '5Gi'), restartPolicy: 'Always' }],
      },
      's',
      500,
    ],
    [
      'plain init containers have their own score',
      { containers: [requesting('c', '2Gi')], initContainers: [requesting('i', '1Gi')] },
      'i',
      900,
    ],
    [
      'what the pod asks for beyond its containers is spread',
      { containers: [requesting('c', '1Gi'), requesting('d')], resources: { requests: { memory: '5Gi' } } },
      'c',
      700,
    ],
    [
      'containers that together ask for more than the pod lose nothing by it',
      {
        containers: [requesting('c', '1Gi')],
        initContainers: [requesting('i', '8Gi')],
        resources: { requests: { memory: '5Gi' } },
      },
      'c',
      900,
    ],
  ];
  it.each(rows)('%s', (_rule, spec, name, expected) => {
    const pod: Pod = { metadata: { uid: 'u', name: 'p', namespace: 'default' }, spec };
    const container = [...spec.containers, ...(spec.initContainers ?? [])].find((c) => c.name === name)!;
    expect(containerOomScoreAdj(pod, container, capacityBytes)).toBe(expected);
  });
});
