import { describe, expect, it } from 'vitest';
import type { ResourceList } from '../../kube/index.js';
import type { MachineInfo } from '../machine/facts.js';
import { type CapacityInput, type CapacitySettings, noDevices, nodeResources } from './capacity.js';
import { nodeReservation, reservationProblem } from './reservation.js';
import { isExtendedResource } from './resource-names.js';
import { gibibyte, testCapacity, testMachine } from './test-facts.js';

interface Row {
  readonly settings?: Partial<CapacitySettings>;
  readonly machine?: Partial<MachineInfo>;
  readonly devices?: CapacityInput['devices'];
  readonly existing?: CapacityInput['existing'];
  readonly capacity?: ResourceList;
  readonly allocatable?: ResourceList;
}

const hugePages = [{ pageSizeBytes: 2 * 2 ** 20, pages: 512 }];
const reserved = {
  systemReserved: { cpu: '200m', memory: '512Mi' },
  kubeReserved: { cpu: '100m', memory: '512Mi' },
  evictionHard: { 'memory.available': '100Mi' },
};

describe('nodeResources', () => {
  const rows: readonly (readonly [rule: string, row: Row])[] = [
    [
      "the machine's capacity, in canonical form",
      {
        machine: { memoryBytes: 16374044 * 1024 },
        capacity: { cpu: '4', memory: '16374044Ki', pods: '110', 'ephemeral-storage': '107374182400' },
        allocatable: { cpu: '4', memory: '16374044Ki', pods: '110', 'ephemeral-storage': '107374182400' },
      },
    ],
    [
      'storage in plain bytes',
      {
        machine: { rootFilesystemBytes: 52_710_309_888 },
        capacity: { 'ephemeral-storage': '52710309888' },
      },
    ],
    ['pods by cores, if fewer', { settings: { podsPerCore: 10 }, capacity: { pods: '40' } }],
    ['pods by maxPods, if fewer', { settings: { podsPerCore: 100 }, capacity: { pods: '110' } }],
    [
      'no storage without isolation',
      { settings: { localStorageCapacityIsolation: false }, capacity: { 'ephemeral-storage': '' } },
    ],
    [
      'huge pages reduce memory',
      {
        machine: { memoryBytes: 4 * gibibyte, hugePages },
        capacity: { 'hugepages-2Mi': '1Gi', memory: '4Gi' },
        allocatable: { 'hugepages-2Mi': '1Gi', memory: '3Gi' },
      },
    ],
    [
      'page sizes without pages are listed',
      {
        machine: { hugePages: [{ pageSizeBytes: gibibyte, pages: 0 }] },
        capacity: { 'hugepages-1Gi': '0' },
        allocatable: { 'hugepages-1Gi': '0', memory: '8Gi' },
      },
    ],
    [
      'reservations and the hard threshold are subtracted',
      { settings: reserved, allocatable: { cpu: '3700m', memory: '7068Mi' } },
    ],
    [
      'the same with huge pages',
      { settings: reserved, machine: { hugePages }, allocatable: { memory: '6044Mi' } },
    ],
    [
      'a percentage in single precision',
      {
        settings: { evictionHard: { 'nodefs.available': '10%' } },
        machine: { rootFilesystemBytes: 101430960 * 1024 },
        allocatable: { 'ephemeral-storage': '93478772582' },
      },
    ],
    ['never negative', { settings: { kubeReserved: { cpu: '9' } }, allocatable: { cpu: '0' } }],
    [
      'devices',
      {
        devices: {
          capacity: { 'a.com/gpu': '4' },
          allocatable: { 'a.com/gpu': '3' },
          removed: ['a.com/nic'],
        },
        capacity: { 'a.com/gpu': '4', 'a.com/nic': '0' },
        allocatable: { 'a.com/gpu': '3', 'a.com/nic': '0' },
      },
    ],
    [
      'unknown capacity stays, extended allocatable without capacity is removed',
      {
        existing: { capacity: { 'x.com/y': '2' }, allocatable: { 'x.com/y': '1', 'x.com/gone': '1' } },
        capacity: { 'x.com/y': '2' },
        allocatable: { 'x.com/y': '2', 'x.com/gone': '' },
      },
    ],
  ];
  it.each(rows)('%s', (_rule, row: Row) => {
    const found = nodeResources({
      settings: { ...testCapacity, ...row.settings },
      machine: { ...testMachine, ...row.machine },
      devices: row.devices ?? noDevices,
      existing: row.existing ?? {},
    });
    // An empty text stands for an absent resource.
    for (const side of ['capacity', 'allocatable'] as const) {
      for (const [resource, amount] of Object.entries(row[side] ?? {})) {
        expect(found[side][resource] ?? '', `${side} of ${resource}`).toBe(amount);
      }
    }
  });
  it('an unreadable machine has only pods', () => {
    const found = nodeResources({
      settings: testCapacity,
      machine: undefined,
      devices: noDevices,
      existing: {},
    });
    expect(found.capacity).toEqual({ cpu: '0', memory: '0', pods: '110' });
  });
});

it("names a reservation beyond the machine's capacity", () => {
  const reservation = nodeReservation(
    { ...testCapacity, kubeReserved: { memory: '16Gi' } },
    { memory: '8Gi' },
  );
  expect(reservationProblem({ memory: '8Gi' }, reservation)).toBe(
    'invalid Node Allocatable configuration. Resource "memory" has a reservation of 16Gi but capacity of 8Gi. Expected capacity >= reservation.',
  );
  expect(reservationProblem({ memory: '8Gi', cpu: '1' }, { memory: '8Gi' })).toBeUndefined();
});

it.each([
  ['nvidia.com/gpu', true],
  ['cpu', false],
  ['hugepages-2Mi', false],
  ['kubernetes.io/batch-cpu', false],
  ['x.kubernetes.io/y', false],
  ['requests.nvidia.com/gpu', false],
])('%s is extended: %s', (name, expected) => {
  expect(isExtendedResource(name)).toBe(expected);
});
