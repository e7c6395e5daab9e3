import { describe, expect, it } from 'vitest';
import type { Node } from '../../kube/index.js';
import type { ImageForecast } from '../../runtime-manager/images/index.js';
import { podLimit } from '../admission/admission.js';
import { allocatableUnder, cgroupChanges, imagesUnder, refusedBy } from './config.js';
import { bounded, listedAtMost } from './contracts.js';

const reserving = (memory: string, threshold = '100Mi') => ({
  systemReserved: { memory },
  kubeReserved: {},
  evictionHard: { 'memory.available': threshold },
});

describe('allocatableUnder', () => {
  const node: Node = {
    metadata: { name: 'n', namespace: '', uid: 'u' },
    status: { capacity: { cpu: '4', memory: '8Gi' }, allocatable: { cpu: '4', memory: '7068Mi' } },
  };
  it.each([
    ['the same', reserving('1Gi'), '7068Mi'],
    ['more for the system', reserving('2Gi'), '6044Mi'],
    ['a higher threshold', reserving('1Gi', '1124Mi'), '6044Mi'],
    ['more than there is', reserving('100Gi'), '0'],
  ])('%s', (_, after, memory) => {
    expect(allocatableUnder(node, reserving('1Gi'), after)).toEqual({ cpu: '4', memory });
  });
  it('a node that nobody knows', () => {
    expect(allocatableUnder(undefined, reserving('1Gi'), reserving('2Gi'))).toBeUndefined();
  });
});

it('refusedBy asks for the oldest pod first', async () => {
  const pod = (name: string, creationTimestamp: string) => ({
    metadata: { name, namespace: 'default', uid: name, creationTimestamp },
    spec: { containers: [] },
  });
  const pods = [pod('young', '2026-01-02T00:00:00Z'), pod('old', '2026-01-01T00:00:00Z')];
  expect((await refusedBy([podLimit(1)], pods)).map(({ name, reason }) => `${name} ${reason}`)).toEqual([
    'young OutOfpods',
  ]);
});

it('imagesUnder names only images that go because of the file', () => {
  const forecast = (...gone: string[]): ImageForecast => ({
    usedPercent: 1,
    wantedBytes: 0,
    images: ['a', 'b'].map((id) => ({
      id,
      name: id,
      sizeBytes: 5,
      when: gone.includes(id) ? ('now' as const) : ('kept' as const),
      because: 'x',
    })),
  });
  expect(imagesUnder(forecast('a'), forecast('a', 'b'))).toMatchObject({
    goNow: { items: [{ id: 'b' }] },
    bytes: 5,
  });
});

it('cgroupChanges names cgroups that come and go', () => {
  const before = new Map([['a', { limit: '1' }]]);
  expect(cgroupChanges(before, new Map([['b', { limit: '1' }]]))).toEqual([
    { cgroup: 'a', name: 'limit', before: '1', after: 'unset' },
    { cgroup: 'b', name: 'limit', before: 'unset', after: '1' },
  ]);
});

it('lists are cut, and say by how much', () => {
  const { items, omitted } = bounded(Array.from({ length: 5_000 }, (_, index) => index));
  expect([items.length, omitted]).toEqual([listedAtMost, 5_000 - listedAtMost]);
});
