import { describe, expect, it } from 'vitest';
import type { ResourceList } from '../../kube/index.js';
import { gi, memoryMachine, mi } from '../topology-manager/test-topology.js';
import {
  isSameMachine,
  type MemoryAssignments,
  noAssignments,
  unusedMemory,
  usedMemory,
} from './machine-memory.js';
import { bestHint, memoryHints } from './memory-hints.js';
import { MemoryConfigError, readReservedMemory } from './reserved-memory.js';

const twoMi = { sizeBytes: 2 * mi, pages: 512 };
const assigned = (...blocks: [ids: number[], size: number, type?: string][]): MemoryAssignments => ({
  ...noAssignments,
  entries: new Map([
    [
      'p',
      new Map(
        blocks.map(([numaAffinity, size, type = 'memory'], index) => [
          `c${index}`,
          [{ numaAffinity, type, size }],
        ]),
      ),
    ],
  ]),
});

describe('reserved memory', () => {
  const two = memoryMachine([4 * gi, 4 * gi]);
  const cases: [string, [number, ResourceList][], ResourceList, string | undefined][] = [
    ['equals what the node reserves', [[0, { memory: '1Gi' }]], { memory: '1Gi' }, undefined],
    [
      'in parts',
      [
        [0, { memory: '512Mi' }],
        [1, { memory: '512Mi' }],
      ],
      { memory: '1Gi', cpu: '1' },
      undefined,
    ],
    [
      'less than the node reserves',
      [[0, { memory: '1Gi' }]],
      { memory: '1124Mi' },
      'the total amount "1Gi" of type "memory" is not equal to the value "1124Mi" determined by Node Allocatable feature',
    ],
    [
      'on a node that is not there',
      [[5, { memory: '1Gi' }]],
      { memory: '1Gi' },
      'the reserved memory configuration references a NUMA node 5 that does not exist on this machine',
    ],
    [
      'of huge pages, which the node cannot reserve',
      [[0, { memory: '1Gi', 'hugepages-2Mi': '64Mi' }]],
      { memory: '1Gi' },
      'the total amount "64Mi" of type "hugepages-2Mi" is not equal to the value "0" determined by Node Allocatable feature',
    ],
    ['none at all', [], {}, '[memorymanager] you should specify the system reserved memory'],
  ];
  it.each(cases)('%s', (_, given, nodeReservation, problem) => {
    const reservedMemory = given.map(([numaNode, limits]) => ({ numaNode, limits }));
    const read = () => readReservedMemory({ reservedMemory, nodeReservation, machine: two });
    if (problem === undefined) expect(read).not.toThrow();
    else expect(read).toThrow(new MemoryConfigError('reservedMemory', problem));
  });

  it('names the field', () => {
    expect(new MemoryConfigError('reservedMemory', 'x').message).toBe(
      'reservedMemory (--reserved-memory): x',
    );
  });
});

describe('the memory of a machine', () => {
  it('has huge pages apart', () => {
    const machine = memoryMachine([{ memoryBytes: 4 * gi, hugePages: [twoMi] }]);
    const node = unusedMemory(machine, new Map([[0, new Map([['memory', gi]])]])).get(0);
    const gone = { reserved: 0, systemReserved: 0 };
    expect(Object.fromEntries(node?.memoryMap ?? [])).toEqual({
      memory: { ...gone, total: 4 * gi, systemReserved: gi, allocatable: 2 * gi, free: 2 * gi },
      'hugepages-2Mi': { ...gone, total: gi, allocatable: gi, free: gi },
    });
  });

  it('is never less than nothing', () => {
    const machine = memoryMachine([gi]);
    const node = unusedMemory(machine, new Map([[0, new Map([['memory', 2 * gi]])]])).get(0);
    expect(node?.memoryMap.get('memory')).toMatchObject({ allocatable: 0, free: 0 });
  });

  const unused = unusedMemory(memoryMachine([3 * gi, 4 * gi]), new Map());
  const freeOf = (assignments: MemoryAssignments): unknown => {
    const used = usedMemory(unused, assignments);
    if (used.kind === 'unfit') return used.problem;
    return [...used.machine.values()].map(({ memoryMap, cells, numberOfAssignments }) => [
      (memoryMap.get('memory')?.free ?? 0) / gi,
      cells,
      numberOfAssignments,
    ]);
  };
  const cases: [string, MemoryAssignments, unknown][] = [
    [
      'unused',
      noAssignments,
      [
        [3, [0], 0],
        [4, [1], 0],
      ],
    ],
    [
      'one node',
      assigned([[0], 2 * gi]),
      [
        [1, [0], 1],
        [4, [1], 0],
      ],
    ],
    [
      'several nodes from the lowest',
      assigned([[0, 1], 5 * gi]),
      [
        [0, [0, 1], 1],
        [2, [0, 1], 1],
      ],
    ],
    [
      'one node first, whatever the order',
      assigned([[0, 1], 4 * gi], [[0], 2 * gi]),
      [
        [0, [0], 2],
        [1, [0, 1], 1],
      ],
    ],
    [
      'a node that is not there',
      assigned([[2], gi]),
      '[memorymanager] (pod: p, container: c0) the memory assignment uses the NUMA that does not exist',
    ],
    [
      'memory that is not there',
      assigned([[0], gi, 'hugepages-1Gi']),
      '[memorymanager] (pod: p, container: c0) the memory assignment uses memory resource that does not exist',
    ],
    [
      'more than there is',
      assigned([[0], 4 * gi]),
      '[memorymanager] the expected machine state is different from the real one',
    ],
  ];
  it.each(cases)('%s', (_, assignments, expected) => expect(freeOf(assignments)).toEqual(expected));

  it('is the same however the bytes of a group lie', () => {
    const used = usedMemory(unused, assigned([[0, 1], 4 * gi]));
    if (used.kind === 'unfit') throw new Error(used.problem);
    const moved = new Map(
      [...used.machine].map(([id, node]) => {
        const table = node.memoryMap.get('memory');
        if (table === undefined) throw new Error('no memory');
        const by = id === 0 ? gi : -gi;
        const other = { ...table, free: table.free + by, reserved: table.reserved - by };
        return [id, { ...node, cells: [...node.cells].reverse(), memoryMap: new Map([['memory', other]]) }];
      }),
    );
    expect(isSameMachine(used.machine, moved)).toBe(true);
    expect(isSameMachine(used.machine, unused)).toBe(false);
  });
});

describe('hints', () => {
  const hintsOf = (
    nodes: readonly number[],
    assignments: MemoryAssignments,
    bytes: number,
    reusable: (ids: readonly number[]) => number = () => 0,
  ): string[] => {
    const used = usedMemory(
      unusedMemory(memoryMachine(nodes.map((size) => size * gi)), new Map()),
      assignments,
    );
    if (used.kind === 'unfit') throw new Error(used.problem);
    const hints = memoryHints(used.machine, { request: new Map([['memory', bytes * gi]]), reusable });
    return hints.map(({ mask, preferred }) => `${mask.toString(2)}${preferred ? '+' : ''}`);
  };
  const one = (ids: number[], bytes: number): MemoryAssignments => assigned([ids, bytes * gi]);
  const cases: [string, string[], string[]][] = [
    ['one node', hintsOf([4], noAssignments, 2), ['1+']],
    ['each node and both', hintsOf([4, 4], noAssignments, 2), ['1+', '10+', '11']],
    ['both only', hintsOf([4, 4], noAssignments, 6), ['11+']],
    ['too much for all', hintsOf([4, 4], noAssignments, 9), []],
    ['a node in use alone joins no group', hintsOf([4, 4], one([0], 3), 2), ['10+']],
    ['a group stays together', hintsOf([4, 4], one([0, 1], 5), 1), ['11']],
    ['two of a larger group do not make one', hintsOf([4, 4, 4], one([0, 1], 5), 1), ['100+', '11']],
    [
      'what the pod may use again counts on exactly its nodes',
      hintsOf([4], one([0], 4), 2, ([id]) => (id === 0 ? 2 * gi : 0)),
      ['1+'],
    ],
    ['preference is by what the machine has, not by what is free', hintsOf([4, 4], one([0], 4), 4), ['10+']],
  ];
  it.each(cases)('%s', (_, hints, expected) => expect(hints).toEqual(expected));

  it('has a mask for every set of 8 nodes', () => {
    expect(hintsOf([1, 1, 1, 1, 1, 1, 1, 1], noAssignments, 1)).toHaveLength(255);
  });

  it('needs all types at once, and a type that a node lacks counts as nothing there', () => {
    const machine = unusedMemory(
      memoryMachine([{ memoryBytes: 4 * gi, hugePages: [twoMi] }, 4 * gi]),
      new Map(),
    );
    const request = new Map([
      ['hugepages-2Mi', 512 * mi],
      ['memory', gi],
    ]);
    expect(memoryHints(machine, { request, reusable: () => 0 })).toEqual([
      { mask: 1, preferred: true },
      { mask: 3, preferred: false },
    ]);
  });

  it('prefers preferred ones, then fewer nodes, then lower ones', () => {
    const hint = (mask: number, preferred: boolean) => ({ mask, preferred });
    expect(bestHint([hint(1, false), hint(9, true), hint(6, true), hint(7, true)])).toEqual(hint(6, true));
    expect(bestHint([])).toBeUndefined();
  });
});
