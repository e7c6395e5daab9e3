import { describe, expect, it } from 'vitest';
import { cpuQuotaMicros, cpuShares, cpuWeight, pageSizeName, sharesOfWeight } from './cgroup-units.js';

const gi = 1024 ** 3;

describe('shares and quota', () => {
  it.each([
    [0, 2],
    [1, 2],
    [100, 102],
    [1000, 1024],
    [2000, 2048],
    [1_000_000, 262_144],
  ])('%d millicores are %d shares', (milliCpu, shares) => expect(cpuShares(milliCpu)).toBe(shares));

  it.each([
    [0, 0],
    [1, 1000],
    [10, 1000],
    [500, 50_000],
    [2000, 200_000],
  ])('%d millicores are a quota of %d', (milliCpu, quota) => {
    expect(cpuQuotaMicros(milliCpu, 100_000)).toBe(quota);
  });

  it.each([
    [2, 1],
    [102, 4],
    [1024, 39],
    [262_144, 10_000],
  ])('%d shares are a weight of %d', (shares, weight) => expect(cpuWeight(shares)).toBe(weight));
});

it('a weight of 39 is 998 shares', () => expect(sharesOfWeight(39)).toBe(998));

describe('page sizes', () => {
  it.each([
    [65_536, '64KB'],
    [2 * 1024 * 1024, '2MB'],
    [gi, '1GB'],
    [512 * 1024 * 1024, '512MB'],
  ])('%d bytes are %s', (sizeBytes, name) => expect(pageSizeName(sizeBytes)).toBe(name));
});
