import { expect, it } from 'vitest';
import { NativeBuckets } from './native-buckets.js';
import { Registry } from './registry.js';

const bucketsOf = (...values: number[]): NativeBuckets => {
  const buckets = new NativeBuckets();
  for (const value of values) buckets.observe(value);
  return buckets;
};

it.each([
  [1, 0],
  [1.0001, 1],
  [2, 8],
  [0.5, -8],
  [2 ** (3 / 8), 3],
  [1024, 80],
  [1025, 81],
])('%d is counted in bucket %d of eight for each doubling', (value, index) => {
  const buckets = bucketsOf(value);
  expect(buckets.schema).toBe(3);
  expect(buckets.positive).toEqual([[index, 1]]);
});

it('counts zero and what is below zero apart', () => {
  const buckets = bucketsOf(0, 1e-300, -1, -2, -2, Number.POSITIVE_INFINITY);
  expect(buckets.zeroCount).toBe(2);
  expect(buckets.positive).toEqual([]);
  expect(buckets.negative).toEqual([
    [0, 1],
    [8, 2],
  ]);
});

it('puts neighbours together instead of growing without bound, and loses no count', () => {
  const values = Array.from({ length: 2000 }, (_, index) => 1.05 ** (index - 1000));
  const buckets = bucketsOf(...values);
  expect(buckets.positive.length).toBeLessThanOrEqual(160);
  expect(buckets.schema).toBeLessThan(3);
  expect(buckets.positive.reduce((sum, [, count]) => sum + count, 0)).toBe(2000);
});

it('a registry keeps them for each series of a histogram, if asked', () => {
  const registry = new Registry({ nativeHistograms: true });
  const histogram = registry.histogram('calls_seconds', 'Calls.', ['verb']);
  histogram.observe(2, { verb: 'get' });
  expect([...registry.natives()].map(([series, { positive }]) => [series, positive])).toEqual([
    ['calls_seconds{verb="get"}', [[8, 1]]],
  ]);
  const plain = new Registry();
  plain.histogram('calls_seconds', 'Calls.').observe(2);
  expect(plain.natives().size).toBe(0);
});
