import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { allocated, type HintProvider, type ResourceHints, type TopologyHint } from './hint-provider.js';
import { createAlignmentMetrics, createTopologyManagerMetrics } from './metrics.js';
import { type AligningPolicyName, createAligningPolicy } from './policy.js';
import { gi, guaranteed, memoryMachine, podOf } from './test-topology.js';
import { TopologyManager } from './topology-manager.js';

const yes = (mask?: number): TopologyHint => ({ mask, preferred: true });
const signal = new AbortController().signal;
const nodes = (count: number) => memoryMachine(Array.from({ length: count }, () => gi));

interface ManagerCase {
  readonly policy?: AligningPolicyName;
  readonly scope?: 'container' | 'pod';
  readonly providers?: readonly Partial<HintProvider>[];
  readonly alignsPodLevel?: boolean;
}

function manager({ policy, scope = 'container', providers = [{}], alignsPodLevel = false }: ManagerCase) {
  const calls: string[] = [];
  const metrics = createTopologyManagerMetrics();
  const alignment = createAlignmentMetrics();
  const topology = new TopologyManager({
    clock: new VirtualClock(),
    policy: policy && createAligningPolicy({ policy, options: {}, machine: nodes(2) }),
    scope,
    alignsPodLevel,
    metrics,
    alignment,
    providers: providers.map((provider, index) => ({
      name: `p${index}`,
      containerHints(_pod, { name }) {
        calls.push(`p${index} hints ${name}`);
        return undefined;
      },
      podHints() {
        calls.push(`p${index} pod hints`);
        return undefined;
      },
      allocate(_pod, { name }, { mask, preferred }) {
        calls.push(`p${index} allocate ${name} ${mask}${preferred ? ' preferred' : ''}`);
        return allocated;
      },
      ...provider,
    })),
  });
  return { topology, calls, metrics, alignment };
}

const two: Pod = podOf('p', {
  initContainers: [guaranteed('i', { memory: '1Gi' })],
  containers: [guaranteed('a', { memory: '1Gi' })],
});
const refusal = {
  reason: 'TopologyAffinityError',
  message: 'Resources cannot be allocated with Topology locality',
};
const cannot: Partial<HintProvider> = {
  containerHints: (_pod, { name }) => new Map([['r', name === 'a' ? [] : [yes(1)]]]),
  podHints: () => new Map([['r', []]]),
};

describe('admission', () => {
  it('allocates without hints for policy none, init containers first', async () => {
    const { topology, calls, metrics, alignment } = manager({ providers: [{}, {}] });
    expect(await topology.admit(two, 'add', signal)).toBeUndefined();
    expect(calls).toEqual([
      'p0 allocate i undefined',
      'p1 allocate i undefined',
      'p0 allocate a undefined',
      'p1 allocate a undefined',
    ]);
    expect(metrics.requests.value()).toBe(1);
    expect(metrics.durationMs.count()).toBe(1);
    expect(topology.hints.get('p', 'a')).toBeUndefined();
    const lines: string[] = [];
    alignment.aligned.write((line) => lines.push(line));
    expect(lines.join('')).not.toContain('numa_node');
  });

  it.each(['none', 'restricted'] as const)(
    'of many containers lets other work have its turn: %s',
    async (policy) => {
      const { topology, calls } = manager(policy === 'none' ? {} : { policy });
      const containers = Array.from({ length: 200 }, (_, index) => ({ name: `c${index}`, image: 'i' }));
      const turns: number[] = [];
      let isOver = false;
      const look = (): void => {
        turns.push(calls.length);
        if (!isOver) setImmediate(look);
      };
      setImmediate(look);
      await topology.admit({ ...two, spec: { containers } }, 'add', signal);
      isOver = true;
      const served = new Set(turns.filter((count) => count > 0 && count < calls.length));
      expect(served.size).toBe(3);
    },
  );

  it('asks, agrees and allocates container by container', async () => {
    const { topology, calls } = manager({ policy: 'restricted' });
    expect(await topology.admit(two, 'add', signal)).toBeUndefined();
    expect(calls).toEqual([
      'p0 hints i',
      'p0 allocate i 3 preferred',
      'p0 hints a',
      'p0 allocate a 3 preferred',
    ]);
  });

  it('asks once and gives all containers the same nodes in scope pod', async () => {
    const podHints = (): ResourceHints => new Map([['r', [yes(2)]]]);
    const { topology, calls } = manager({
      policy: 'single-numa-node',
      scope: 'pod',
      providers: [{ podHints }],
    });
    expect(await topology.admit(two, 'add', signal)).toBeUndefined();
    expect(calls).toEqual(['p0 allocate i 2 preferred', 'p0 allocate a 2 preferred']);
    expect(topology.hints.get('p', 'i')).toEqual(yes(2));
    expect(topology.hints.get('p', 'a')).toEqual(yes(2));
  });

  it('refuses the second container and leaves the first what it got', async () => {
    const { topology, calls, metrics, alignment } = manager({
      policy: 'single-numa-node',
      providers: [cannot],
    });
    expect(await topology.admit(two, 'add', signal)).toEqual(refusal);
    expect(calls).toEqual(['p0 allocate i 1 preferred']);
    expect(metrics.errors.value()).toBe(1);
    const labels = { scope: 'container', boundary: 'numa_node' };
    expect(alignment.aligned.value(labels)).toBe(1);
    expect(alignment.failed.value(labels)).toBe(1);
  });

  it('admits it all the same if best effort is enough', async () => {
    const { topology, calls } = manager({ policy: 'best-effort', providers: [cannot] });
    expect(await topology.admit(two, 'add', signal)).toBeUndefined();
    expect(calls).toEqual(['p0 allocate i 1 preferred', 'p0 allocate a 3']);
  });

  it('refuses the pod as a whole in scope pod', async () => {
    const { topology, alignment } = manager({
      policy: 'single-numa-node',
      scope: 'pod',
      providers: [cannot],
    });
    expect(await topology.admit(two, 'add', signal)).toEqual(refusal);
    expect(alignment.failed.value({ scope: 'pod', boundary: 'numa_node' })).toBe(1);
  });

  it('tells why an allocation failed', async () => {
    const plain = manager({ providers: [{ allocate: () => ({ kind: 'refused', message: 'no room' }) }] });
    expect(await plain.topology.admit(two, 'add', signal)).toEqual({
      reason: 'UnexpectedAdmissionError',
      message: 'Allocate failed due to no room, which is unexpected',
    });
    expect(plain.metrics.errors.value()).toBe(0);
    const own = manager({
      policy: 'restricted',
      providers: [
        { allocate: async () => ({ kind: 'refused', reason: 'SMTAlignmentError', message: 'odd' }) },
      ],
    });
    expect(await own.topology.admit(two, 'add', signal)).toEqual({
      reason: 'SMTAlignmentError',
      message: 'odd',
    });
    expect(own.metrics.errors.value()).toBe(1);
  });

  it('asks for a resize only those who give hints for it, and allocates nothing', async () => {
    const { topology, calls, metrics } = manager({
      policy: 'restricted',
      providers: [cannot, { hintsOnResize: true }],
    });
    topology.hints.set('p', 'a', yes(1));
    expect(await topology.admit(two, 'resize', signal)).toBeUndefined();
    expect(calls).toEqual(['p1 hints i', 'p1 hints a']);
    expect(topology.hints.get('p', 'a')).toEqual(yes(3));
    expect(metrics.requests.value()).toBe(1);
    const none = manager({});
    expect(await none.topology.admit(two, 'resize', signal)).toBeUndefined();
    expect(none.calls).toEqual([]);
  });

  it('counts from the start for every policy but none', () => {
    const { alignment } = manager({ policy: 'restricted' });
    for (const counter of [alignment.aligned, alignment.failed]) {
      const lines: string[] = [];
      counter.write((line) => lines.push(line));
      expect(lines.join('')).toContain(`${counter.name}{scope="pod",boundary="numa_node"} 0`);
      expect(lines.join('')).toContain(`${counter.name}{scope="container",boundary="numa_node"} 0`);
    }
  });
});

describe('pods with resources of their own', () => {
  const own: Pod = podOf('p', {
    ...two.spec,
    resources: { requests: { cpu: '2', memory: '2Gi' }, limits: { cpu: '2', memory: '2Gi' } },
  });

  it('get everything at once in scope pod', async () => {
    const given: TopologyHint[] = [];
    const allocatePod = (_pod: Pod, hint: TopologyHint) => {
      given.push(hint);
      return allocated;
    };
    const { topology, calls } = manager({
      policy: 'restricted',
      scope: 'pod',
      alignsPodLevel: true,
      providers: [{}, { allocatePod }],
    });
    expect(await topology.admit(own, 'add', signal)).toBeUndefined();
    expect(given).toEqual([yes(3)]);
    expect(calls).toEqual(['p0 pod hints', 'p1 pod hints']);
  });

  it.each([
    [
      'container',
      true,
      'Pod Scope pod with pod-level resources failed admission with a container-level topology manager',
    ],
    ['pod', true, 'Pod Scope pod with pod-level resources failed admission under pod-scope topology manager'],
    ['pod', false, refusal.message],
  ] as const)('are refused in scope %s, gate %s', async (scope, alignsPodLevel, message) => {
    const { topology } = manager({ policy: 'restricted', scope, alignsPodLevel, providers: [cannot] });
    expect(await topology.admit(own, 'add', signal)).toEqual({ reason: 'TopologyAffinityError', message });
  });
});

describe('stored hints', () => {
  it('stay until the last instance of the container is gone', async () => {
    const { topology } = manager({ policy: 'restricted' });
    await topology.admit(two, 'add', signal);
    topology.hints.containerCreated('p', 'a', 'id1');
    topology.hints.containerCreated('p', 'a', 'id2');
    topology.hints.containerRemoved('id1');
    expect(topology.hints.get('p', 'a')).toEqual(yes(3));
    topology.hints.containerRemoved('id2');
    topology.hints.containerRemoved('id2');
    expect(topology.hints.get('p', 'a')).toBeUndefined();
    expect(topology.hints.get('p', 'i')).toEqual(yes(3));
    topology.hints.keepOnly(() => false);
    expect(topology.hints.get('p', 'i')).toBeUndefined();
  });
});
