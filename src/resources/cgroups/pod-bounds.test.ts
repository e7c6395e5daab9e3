import { describe, expect, it } from 'vitest';
import { boundValues, type MovableBound, wantedBounds } from './pod-bounds.js';
import type { CgroupValues } from './values.js';

const hugePages = new Map([['2MB', 4_194_304]]);
const cpuQuota = { quotaMicros: 25_000, periodMicros: 100_000 };
const wanted: CgroupValues = { cpuShares: 1024, cpuQuota, memoryLimitBytes: 200, hugePages };
const unified = { 'memory.low': '100', 'memory.high': '150' };

describe('what is written for one bound', () => {
  it.each<[rule: string, change: object, bound: MovableBound, expected: object | undefined]>([
    ['the shares alone', {}, 'cpuShares', { cpuShares: 1024, hugePages }],
    ['the quota with its period', {}, 'quotaMicros', { cpuQuota, hugePages }],
    ['the memory limit alone', {}, 'memoryLimitBytes', { memoryLimitBytes: 200, hugePages }],
    [
      'what protects and slows down memory goes with the limit',
      { unified },
      'memoryLimitBytes',
      { memoryLimitBytes: 200, unified, hugePages },
    ],
    ['a limit no longer wanted stays', { memoryLimitBytes: undefined }, 'memoryLimitBytes', undefined],
    ['a quota no longer wanted stays', { cpuQuota: undefined }, 'quotaMicros', undefined],
  ])('%s', (_, change, bound, expected) =>
    expect(boundValues({ ...wanted, ...change }, bound)).toEqual(expected),
  );
});

describe('what a pod should have', () => {
  it.each<[rule: string, values: CgroupValues, expected: object]>([
    ['all of it', wanted, { cpuShares: 1024, ...cpuQuota, memoryLimitBytes: 200 }],
    ['shares alone', { cpuShares: 2, hugePages }, { cpuShares: 2 }],
    [
      'a quota and a limit of 0 bound nothing',
      { cpuShares: 2, cpuQuota: { ...cpuQuota, quotaMicros: 0 }, memoryLimitBytes: 0, hugePages },
      { cpuShares: 2 },
    ],
    [
      'no quota is a bound',
      { cpuQuota: { ...cpuQuota, quotaMicros: -1 }, hugePages },
      { ...cpuQuota, quotaMicros: -1 },
    ],
  ])('%s', (_, values, expected) => expect(wantedBounds(values)).toEqual(expected));
});
