import { describe, expect, it } from 'vitest';
import { randomOf } from '../../fuzz/random.js';
import { driftOf, median, type QuietValue } from './drift.js';

const everyMs = 180_000;

/** A value for each quiet point. */
const series = (count: number, value: (at: number) => number, lifeOf: (at: number) => number = () => 0) =>
  Array.from(
    { length: count },
    (_, at): QuietValue => ({ atMs: at * everyMs, life: lifeOf(at), value: value(at) }),
  );

const noise = (seed: number) => (at: number) => randomOf(seed, 'noise', at).below(2001) / 1000 - 1;

describe('planted figures', () => {
  const rows: [what: string, values: readonly QuietValue[], verdict: 'flat' | 'grows' | 'unknown'][] = [
    ['the same value', series(12, () => 100), 'flat'],
    ['nothing at all', series(12, () => 0), 'flat'],
    ['noise of 4 %', series(20, (at) => 100 + 4 * noise(1)(at)), 'flat'],
    ['noise of 20 %', series(20, (at) => 100 + 20 * noise(2)(at)), 'flat'],
    ['a leak of 1 % at each point', series(12, (at) => 100 + at), 'grows'],
    ['a leak of 1 % in noise of 2 %', series(14, (at) => 100 + at + 2 * noise(3)(at)), 'grows'],
    ['a leak of 0.3 % at each point: 4 % in all', series(14, (at) => 100 + 0.3 * at), 'flat'],
    ['the same leak for four times as long', series(56, (at) => 100 + 0.3 * at), 'grows'],
    ['a step of 20 % in the middle', series(12, (at) => (at < 6 ? 100 : 120)), 'grows'],
    ['a step of 20 % after a third', series(12, (at) => (at < 4 ? 100 : 120)), 'grows'],
    ['a step of 3 %', series(12, (at) => (at < 6 ? 100 : 103)), 'flat'],
    ['one value out of line', series(12, (at) => (at === 7 ? 200 : 100)), 'flat'],
    ['the last value out of line', series(12, (at) => (at === 11 ? 200 : 100)), 'flat'],
    ['a fall', series(12, (at) => 100 - at), 'flat'],
    ['one more each time, of few', series(12, (at) => at), 'grows'],
    [
      'a leak that every life begins anew',
      series(
        18,
        (at) => 100 + 2 * (at % 6),
        (at) => Math.floor(at / 6),
      ),
      'grows',
    ],
    [
      'lives of different heights, each flat',
      series(
        18,
        (at) => 100 + 40 * Math.floor(at / 6),
        (at) => Math.floor(at / 6),
      ),
      'flat',
    ],
    ['three values', series(3, (at) => 100 * at), 'unknown'],
    [
      'lives of two values each',
      series(
        12,
        (at) => 100 * at,
        (at) => at >> 1,
      ),
      'unknown',
    ],
    ['none', [], 'unknown'],
  ];
  it.each(rows)('%s', (_, values, verdict) => {
    expect(driftOf(values, { floor: 3 })).toMatchObject({ verdict });
  });

  it('a rise below the floor is none, though it is many times the value', () => {
    const values = series(12, (at) => 1 + at / 6);
    expect(driftOf(values, { floor: 3 }).verdict).toBe('flat');
    expect(driftOf(values, { floor: 1 }).verdict).toBe('grows');
  });

  it('noise alone is called growth in less than one case of ten', () => {
    const wrong = Array.from({ length: 400 }, (_, seed) =>
      driftOf(
        series(10, (at) => 100 + 15 * noise(seed)(at)),
        { floor: 0 },
      ),
    ).filter(({ verdict }) => verdict === 'grows');
    expect(wrong.length).toBeLessThan(40);
  });

  it('tells slope, rise and what is allowed', () => {
    const {
      slopePerHour,
      rise,
      allowedRise,
      median: middle,
    } = driftOf(
      series(11, (at) => 100 + at),
      { floor: 3 },
    );
    expect(slopePerHour).toBeCloseTo(20);
    expect(rise).toBeCloseTo(10);
    expect(allowedRise).toBeCloseTo(5.25);
    expect(middle).toBe(105);
  });
});

it.each([
  [[], 0],
  [[5], 5],
  [[3, 1], 2],
  [[9, 1, 5], 5],
])('the median of %j is %d', (values, expected) => {
  expect(median(values)).toBe(expected);
});
