import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { allocated, type HintProvider, type ResourceHints, type TopologyHint } from './hint-provider.js';
import { createAlignmentMetrics, createTopologyManagerMetrics } from './metrics.js';
import { type AligningPolicyName, createAligningPolicy } from './policy.js';
import { gi, guaranteed, memoryMachine, podOf } from './test-topology.js';
import { TopologyManager } from './topology-manager.js';

const yes = (mask?: number): TopologyHint => ({ mask, preferred: true });
const no = (mask?: number): TopologyHint => ({ mask, preferred: false });
const signal = new AbortController().signal;
const nodes = (count: number) => memoryMachine(Array.from({ length: count }, () => gi));

describe('options', () => {
  const field = 'topologyManagerPolicyOptions (--topology-manager-policy-options): ';
  const max = 'max-allowable-numa-nodes';
  const cases: [string, number, Record<string, string>, string | undefined][] = [
    ['none', 8, {}, undefined],
    ['an unknown one', 1, { x: '1' }, 'unknown Topology Manager Policy option: "x"'],
    [
      'a limit that is no number',
      1,
      { [max]: 'x' },
      'unable to convert policy option to integer "max-allowable-numa-nodes": strconv.Atoi: parsing "x": invalid syntax',
    ],
    [
      'a limit beyond all numbers',
      1,
      { [max]: '9223372036854775808' },
      'unable to convert policy option to integer "max-allowable-numa-nodes": strconv.Atoi: parsing "9223372036854775808": value out of range',
    ],
    [
      'a limit below 8',
      1,
      { [max]: '7' },
      'the minimum value of "max-allowable-numa-nodes" should not be less than 8',
    ],
    ['9 nodes by default', 9, {}, 'unsupported on machines with more than 8 NUMA Nodes'],
    ['9 nodes if allowed', 9, { [max]: '9' }, undefined],
    [
      'more nodes than can be tried',
      17,
      { [max]: '64' },
      'unsupported on machines with more than 16 NUMA Nodes',
    ],
    [
      'a truth that is none',
      1,
      { 'prefer-closest-numa-nodes': 'yes' },
      'bad value for option "prefer-closest-numa-nodes": strconv.ParseBool: parsing "yes": invalid syntax',
    ],
    [
      'closest nodes without distances',
      2,
      { 'prefer-closest-numa-nodes': 'true' },
      'cannot discover NUMA topology: error getting NUMA distances from cadvisor',
    ],
    ['closest nodes turned off', 2, { 'prefer-closest-numa-nodes': 'F' }, undefined],
  ];
  it.each(cases)('%s', (_, count, options, problem) => {
    const create = () => createAligningPolicy({ policy: 'restricted', options, machine: nodes(count) });
    if (problem === undefined) expect(create).not.toThrow();
    else expect(create).toThrow(field + problem);
  });
});

describe('policies', () => {
  const hints = (...lists: TopologyHint[][]): ResourceHints[] => lists.map((list) => new Map([['r', list]]));
  const both = (hint: TopologyHint, admit: boolean) => ({
    'best-effort': [hint, true],
    restricted: [hint, admit],
  });
  const cases: [string, number, (ResourceHints | undefined)[], Record<string, unknown>][] = [
    [
      'one node is preferred by both',
      2,
      hints([yes(1), yes(2), no(3)], [yes(2)]),
      { ...both(yes(2), true), 'single-numa-node': [yes(2), true] },
    ],
    [
      'nodes that exclude each other',
      2,
      hints([yes(1)], [yes(2)]),
      { ...both(no(3), false), 'single-numa-node': [no(), false] },
    ],
    ['only two nodes', 2, hints([yes(3)]), { ...both(yes(3), true), 'single-numa-node': [no(), false] }],
    [
      'no provider has hints',
      2,
      [undefined, new Map()],
      { ...both(yes(3), true), 'single-numa-node': [yes(), true] },
    ],
    [
      'a resource that cannot be served',
      2,
      hints([]),
      { ...both(no(3), false), 'single-numa-node': [no(), false] },
    ],
    [
      'a machine of one node',
      1,
      hints([yes(1)]),
      { ...both(yes(1), true), 'single-numa-node': [yes(), true] },
    ],
    [
      '8 nodes',
      8,
      hints([yes(128), yes(64)], [yes(128)]),
      { ...both(yes(128), true), 'single-numa-node': [yes(128), true] },
    ],
  ];
  it.each(cases)('%s', (_, count, answers, expected) => {
    for (const [policy, [hint, admit]] of Object.entries(expected) as [
      AligningPolicyName,
      [TopologyHint, boolean],
    ][]) {
      const merged = createAligningPolicy({ policy, options: {}, machine: nodes(count) }).merge(answers);
      expect(merged, policy).toEqual({ hint, admit });
    }
  });

  it('ignores distances for a single node', () => {
    const machine = memoryMachine([{ distances: [10, 20] }, { distances: [20, 5] }]);
    const policy = createAligningPolicy({
      policy: 'single-numa-node',
      options: { 'prefer-closest-numa-nodes': 'true' },
      machine,
    });
    expect(policy.merge(hints([yes(1), yes(2)])).hint).toEqual(yes(1));
  });
});

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
