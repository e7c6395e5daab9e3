/** Which CPUs a request gets, on machines of several shapes. */
import { describe, expect, it } from 'vitest';
import { CpuSet } from '../../kube/index.js';
import type { MachineTopology } from '../machine-topology/index.js';
import {
  big80,
  dual12,
  ht8,
  machineOfNodes,
  testMachine,
  unc16,
  unc16s,
} from '../machine-topology/test-machines.js';
import { cpuTopology } from './cpu-topology.js';
import { type TakeOptions, takeCpus } from './take-cpus.js';

const plain: TakeOptions = {
  fullPcpusOnly: false,
  acrossNuma: false,
  acrossCores: false,
  alignBySocket: false,
  byUncoreCache: false,
};
const acrossNuma = { acrossNuma: true };
const acrossCores = { acrossCores: true };
const byUncoreCache = { byUncoreCache: true };
const wholeAcrossNuma = { acrossNuma: true, fullPcpusOnly: true };

function take(
  machine: MachineTopology,
  free: string | undefined,
  count: number,
  options: Partial<TakeOptions> = {},
): string {
  const topology = cpuTopology(machine);
  const from = free === undefined ? topology.all : CpuSet.parse(free);
  const taken = takeCpus(topology, from, count, { ...plain, ...options });
  if (taken.kind === 'too few') return `too few: ${taken.requested} of ${taken.available}`;
  expect(taken.cpus.isSubsetOf(from)).toBe(true);
  return String(taken.cpus);
}

const sorted = (text: string): string => String(CpuSet.parse(text));

type Row = [
  rule: string,
  machine: MachineTopology,
  free: string | undefined,
  count: number,
  options: Partial<TakeOptions>,
  expected: string,
];

const hybrid: MachineTopology = {
  ...testMachine({ cores: 6 }),
  // Cores 0 and 1 have two threads (0,1 and 2,3), the others one.
  cpus: [0, 0, 2, 2, 4, 5].map((core, id) => ({ id, core, socket: 0, numaNode: 0, uncoreCache: 0 })),
};

describe('packing', () => {
  it.each<Row>([
    ['whole cores, then the CPU whose core is fullest', ht8, '1-7', 5, {}, '1-2,4-6'],
    ['a single CPU comes from the fullest core', ht8, '1-7', 1, {}, '4'],
    ['the one whole core serves two', ht8, '0-3,6', 2, {}, '2,6'],
    ['a single CPU leaves whole cores alone', ht8, '1,3,5-7', 1, {}, '6'],
    ['nothing is asked for', ht8, undefined, 0, {}, ''],
    ['everything', ht8, undefined, 8, {}, '0-7'],
    ['too few are free', ht8, '1-4', 5, {}, 'too few: 5 of 4'],
    ['across cores, by id', ht8, undefined, 3, acrossCores, '0-2'],
    ['a whole socket', dual12, undefined, 6, {}, sorted('0,2,4,6,8,10')],
    ['a whole socket and a core', dual12, undefined, 8, {}, sorted('0,2,4,6,8,10,1,7')],
    ['across cores takes whole sockets, too', dual12, undefined, 8, acrossCores, sorted('0,2,4,6,8,10,1,3')],
    ['a node', big80, undefined, 20, {}, '0-9,40-49'],
    ['a socket', big80, undefined, 40, {}, '0-19,40-59'],
    ['a socket and a node', big80, undefined, 60, {}, '0-29,40-69'],
    ['the node that lacks a core is used last', big80, '1-39,41-79', 60, {}, '10-39,50-79'],
    [
      'a core in part taken is not taken whole on a machine of two kinds of cores',
      hybrid,
      '1-3',
      2,
      {},
      '1-2',
    ],
    ['cores with more threads than the average come CPU by CPU', hybrid, undefined, 3, {}, '0,4-5'],
  ])('%s', (_, machine, free, count, options, expected) =>
    expect(take(machine, free, count, options)).toBe(expected),
  );
});

describe('uncore caches', () => {
  it.each<Row>([
    ['whole caches, and the rest in the fullest that holds it', unc16, '1-15', 10, byUncoreCache, '1,2,4-11'],
    ['a whole cache', unc16, '1-15', 4, byUncoreCache, '4-7'],
    ['the fullest cache that holds exactly what is needed', unc16, '1-15', 3, byUncoreCache, '1-3'],
    ['a whole cache and one CPU of the fullest', unc16, '1-15', 5, byUncoreCache, '1,4-7'],
    ['without the option the order of cores', unc16, '1-15', 10, {}, '1-10'],
    ['a part of a cache by whole cores', unc16s, '2-7,10-15', 6, byUncoreCache, '4-6,12-14'],
    ['an odd request leaves the highest CPU', unc16s, undefined, 3, byUncoreCache, '0-1,8'],
    ['no single cache has enough: packed by cores', unc16s, '2-5,10-13', 6, byUncoreCache, '2-4,10-12'],
  ])('%s', (_, machine, free, count, options, expected) =>
    expect(take(machine, free, count, options)).toBe(sorted(expected)),
  );
});

describe('across NUMA nodes', () => {
  it.each<Row>([
    ['two nodes share evenly', dual12, undefined, 8, acrossNuma, '0-3,6-9'],
    ['as few nodes as can', big80, undefined, 48, acrossNuma, '0-7,10-17,20-27,40-47,50-57,60-67'],
    ['an odd share', big80, undefined, 26, acrossNuma, '0-6,10-16,40-45,50-55'],
    [
      'in whole cores the rest goes to the first',
      big80,
      undefined,
      26,
      wholeAcrossNuma,
      '0-6,10-15,40-46,50-55',
    ],
    [
      'in whole cores over four nodes',
      big80,
      undefined,
      62,
      wholeAcrossNuma,
      '0-7,10-17,20-27,30-36,40-47,50-57,60-67,70-76',
    ],
    ['no whole groups: packed', big80, undefined, 3, wholeAcrossNuma, '0-1,40'],
    ['one node suffices', big80, undefined, 4, acrossNuma, '0-1,40-41'],
    // Node 0 has one free CPU and node 1 has eight: equal shares of 5 are not possible.
    [
      'nodes that cannot give the same: packed',
      machineOfNodes(2),
      '0,4-7,12-15',
      9,
      acrossNuma,
      '0,4-7,12-15',
    ],
  ])('%s', (_, machine, free, count, options, expected) =>
    expect(take(machine, free, count, options)).toBe(expected),
  );

  it('nodes with enough CPUs but too few whole groups do not end the search', () => {
    // Each node gives 6, and 3, 3, 4 and 4 are left: the first two have 6 together, and only two groups.
    expect(take(machineOfNodes(4, 5, 2), '1-4,6-39', 30, wholeAcrossNuma)).toBe(
      '1-4,6-8,10-13,15-18,21-24,26-28,30-33,35-38',
    );
  });

  it('the best of four nodes keeps its last member', () => {
    const machine = machineOfNodes(5, 2, 1);
    // Every node has two free but the last, which has one: the even four are 0 to 3.
    expect(take(machine, '0-8', 8, acrossNuma)).toBe('0-7');
  });

  it('a machine of sixteen nodes is decided in bounded time', () => {
    const machine = machineOfNodes(16, 4, 2);
    const before = performance.now();
    expect(CpuSet.parse(take(machine, '1-127', 61, acrossNuma)).size).toBe(61);
    expect(performance.now() - before).toBeLessThan(5_000);
  });

  it('aligned by socket, nodes of one socket win', () => {
    const machine = machineOfNodes(4, 4, 2);
    // Node 0 has four free; nodes 1 to 3 have eight.
    const free = '0-1,4-17,20-31';
    expect(take(machine, free, 12, { ...acrossNuma, alignBySocket: true })).toBe('8-10,12-14,24-26,28-30');
  });
});
