import { describe, expect, it } from 'vitest';
import type { Pod, ResourceList } from '../../kube/index.js';
import { gi, guaranteed, mi, podOf, sidecar } from '../topology-manager/test-topology.js';
import { planPodMemory } from './pod-level-memory.js';
import { containerMemory, hasPinnedMemory, podMemory } from './requested-memory.js';

describe('requests', () => {
  const memory = (container: string): ResourceList => ({ memory: container });
  const totals: [string, Pod, Record<string, number>][] = [
    [
      'containers together',
      podOf('p', { containers: [guaranteed('a', memory('1Gi')), guaranteed('b', memory('2Gi'))] }),
      { memory: 3 },
    ],
    [
      'a larger init container',
      podOf('p', {
        initContainers: [guaranteed('i', memory('4Gi'))],
        containers: [guaranteed('a', memory('1Gi'))],
      }),
      { memory: 4 },
    ],
    [
      'sidecars beside what comes after them',
      podOf('p', {
        initContainers: [
          guaranteed('i', memory('1Gi')),
          sidecar('s', memory('1Gi')),
          guaranteed('j', memory('3Gi')),
        ],
        containers: [guaranteed('a', memory('1Gi'))],
      }),
      { memory: 4 },
    ],
    [
      'types of init containers alone do not count',
      podOf('p', {
        initContainers: [guaranteed('i', { memory: '1Gi', 'hugepages-1Gi': '1Gi' })],
        containers: [guaranteed('a', memory('1Gi'))],
      }),
      { memory: 1 },
    ],
  ];
  it.each(totals)('%s', (_, pod, expected) =>
    expect(Object.fromEntries([...podMemory(pod)].map(([type, bytes]) => [type, bytes / gi]))).toEqual(
      expected,
    ),
  );

  it('are of memory and huge pages, without zeros', () => {
    const container = guaranteed('a', { memory: '1Gi', 'hugepages-2Mi': '4Mi', 'hugepages-1Gi': '0' });
    const pod = podOf('p', { containers: [container] });
    expect([...containerMemory(pod, container)]).toEqual([
      ['hugepages-2Mi', 4 * mi],
      ['memory', gi],
    ]);
  });

  it('are served for Guaranteed pods, and by a gate if the pod has resources of its own', () => {
    const plain = podOf('p', { containers: [guaranteed('a', memory('1Gi'))] });
    const burstable = podOf('p', { containers: [{ name: 'a', resources: { requests: memory('1Gi') } }] });
    const list = { cpu: '2', memory: '2Gi' };
    const own = podOf('p', { ...plain.spec, resources: { requests: list, limits: list } });
    expect([plain, burstable, own].map((pod) => hasPinnedMemory(pod, false))).toEqual([true, false, false]);
    expect([plain, burstable, own].map((pod) => hasPinnedMemory(pod, true))).toEqual([true, false, true]);
  });
});

describe('the memory of a pod with resources of its own', () => {
  const shared = { name: 'shared', image: 'a:1' };
  const own = (spec: Partial<Pod['spec']>, bytes = '4Gi'): Pod => {
    const list = { cpu: '4', memory: bytes };
    return podOf('p', { ...spec, resources: { requests: list, limits: list } });
  };
  const planOf = (pod: Pod): unknown => {
    const plan = planPodMemory(pod);
    if (plan.kind === 'refused') return plan.message;
    return Object.fromEntries(
      [...plan.containers].map(([name, given]) => [name, (given.get('memory') ?? 0) / gi]),
    );
  };
  const cases: [string, Pod, unknown][] = [
    ['all share it', own({ containers: [shared, { ...shared, name: 'b' }] }), { shared: 4, b: 4 }],
    [
      'exclusive ones have their part',
      own({ containers: [guaranteed('a', { memory: '1Gi' }), shared] }),
      { a: 1, shared: 3 },
    ],
    [
      'init containers get what sidecars before them leave',
      own({
        initContainers: [
          { ...shared, name: 'i' },
          sidecar('s', { memory: '1Gi' }),
          { ...shared, name: 'j' },
          guaranteed('k', { memory: '2Gi' }),
        ],
        containers: [guaranteed('a', { memory: '1Gi' }), shared],
      }),
      { i: 4, s: 1, j: 3, k: 2, a: 1, shared: 2 },
    ],
    [
      'nothing is left to share',
      own({ containers: [guaranteed('a', { memory: '4Gi' }), shared] }),
      'pod rejected, sum of exclusive container memory requests equals pod budget, leaving no memory for shared containers',
    ],
    [
      'nothing is left for an init container',
      own({ initContainers: [sidecar('s', { memory: '4Gi' }), { ...shared, name: 'i' }], containers: [] }),
      'pod rejected, pod has shared init containers but no memory available for them',
    ],
    ['nobody shares', own({ containers: [guaranteed('a', { memory: '4Gi' })] }), { a: 4 }],
  ];
  it.each(cases)('%s', (_, pod, expected) => expect(planOf(pod)).toEqual(expected));
});
