/** What the pod resources API is told of devices. */
import { expect, it } from 'vitest';
import { deviceProvider } from './device-provider.js';

const provider = deviceProvider({
  ofContainer: (podUid, container) =>
    podUid !== 'u' || container !== 'c'
      ? []
      : [
          [
            'x.io/nic',
            {
              idsByNode: new Map([
                [-1, ['free']],
                [0, ['both', 'zero']],
                [1, ['both']],
              ]),
            } as never,
          ],
        ],
  resources: () => [
    ['x.io/nic', { table: new Map([['a', { numaNodes: [1] }]]), healthy: new Set(['b', 'a']) } as never],
  ],
});

it('lists the devices of a container with their NUMA nodes', () => {
  const device = (id: string, numaNodes: number[]) => ({ resourceName: 'x.io/nic', id, numaNodes });
  expect(provider.devicesOf('u', 'c')).toEqual([
    device('both', [0, 1]),
    device('free', []),
    device('zero', [0]),
  ]);
  expect(provider.devicesOf('u', 'other')).toEqual([]);
});

it('lists healthy devices as those that can be given out', () => {
  expect(provider.allocatable().map(({ id, numaNodes }) => [id, numaNodes])).toEqual([
    ['a', [1]],
    ['b', undefined],
  ]);
});
