import { expect, it } from 'vitest';
import { isSampled } from './sampling.js';

const low = `${'f'.repeat(16)}0000000000000001`;
const high = `${'0'.repeat(16)}ffffffffffffffff`;
const middle = `${'0'.repeat(16)}7fffffffffffffff`;

it.each<[rule: string, traceId: string, parent: boolean | undefined, rate: number, expected: boolean]>([
  ['a sampled parent is followed at any rate', high, true, 0, true],
  ['so is one that is not', low, false, 1_000_000, false],
  ['a root at the full rate', high, undefined, 1_000_000, true],
  ['a root at the rate 0', low, undefined, 0, false],
  ['a low number at a low rate', low, undefined, 1, true],
  ['a high number at a high rate', high, undefined, 999_999, false],
  ['a number just below half', middle, undefined, 500_000, true],
  ['a number just below half, at less', middle, undefined, 499_999, false],
])('%s', (_, traceId, parent, rate, expected) => {
  expect(isSampled(traceId, parent === undefined ? undefined : { sampled: parent }, rate)).toBe(expected);
});
