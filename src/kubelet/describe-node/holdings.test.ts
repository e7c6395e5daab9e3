import { expect, it } from 'vitest';
import { CpuSet } from '../../kube/index.js';
import { cpuHoldings, memoryHoldings } from './holdings.js';

const cpus = (text: string): CpuSet => CpuSet.parse(text);

it('CPUs: the shared pool, and those of containers and of pods as a whole', () => {
  expect(
    cpuHoldings({
      defaultCpuSet: cpus('0-1'),
      entries: new Map([
        ['a', new Map([['app', cpus('2-3')]])],
        [
          'b',
          new Map([
            ['shares', cpus('4-7')],
            ['own', cpus('4')],
          ]),
        ],
      ]),
      podEntries: new Map([['b', cpus('4-7')]]),
    }),
  ).toEqual({
    sharedCpus: '0-1',
    held: [
      { podUid: 'b', container: '', cpus: '4-7' },
      { podUid: 'a', container: 'app', cpus: '2-3' },
      { podUid: 'b', container: 'own', cpus: '4' },
    ],
  });
});

it('memory: the NUMA nodes of each block', () => {
  const block = (numaAffinity: number[], type = 'memory') => ({ numaAffinity, type, size: 1024 });
  expect(
    memoryHoldings({
      entries: new Map([
        [
          'a',
          new Map([
            ['app', [block([0]), block([0], 'hugepages-2Mi')]],
            ['none', []],
          ]),
        ],
      ]),
      podEntries: new Map([['b', [block([0, 1])]]]),
    }).held,
  ).toEqual([
    { podUid: 'b', container: '', memory: [{ resource: 'memory', numaNodes: [0, 1], bytes: 1024 }] },
    {
      podUid: 'a',
      container: 'app',
      memory: [
        { resource: 'memory', numaNodes: [0], bytes: 1024 },
        { resource: 'hugepages-2Mi', numaNodes: [0], bytes: 1024 },
      ],
    },
  ]);
});
