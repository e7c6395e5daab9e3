import { describe, expect, it } from 'vitest';
import type { ResourceHints, TopologyHint } from './hint-provider.js';
import { type AligningPolicyName, createAligningPolicy } from './policy.js';
import { gi, memoryMachine } from './test-topology.js';

const yes = (mask?: number): TopologyHint => ({ mask, preferred: true });
const no = (mask?: number): TopologyHint => ({ mask, preferred: false });
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
