import { describe, expect, it } from 'vitest';
import { figures, judgeFigures, type QuietPoint } from './figures.js';

const minute = 60_000;
const schedule = { warmUpCycles: 3, lifeCycles: 12 };

/** A point each two minutes; a new life begins at each of these cycles. */
function points(
  count: number,
  births: readonly number[],
  value: (at: number, age: number) => number,
): QuietPoint[] {
  return Array.from({ length: count }, (_, cycle) => {
    const born = births.filter((at) => at <= cycle).at(-1) ?? 0;
    const age = cycle - born;
    const values = Object.fromEntries(figures.map(({ name }) => [name, value(cycle, age)]));
    return { cycle, atMs: cycle * 2 * minute, life: born, age, settledAfterMs: 0, values };
  });
}

const verdicts = (all: readonly QuietPoint[], of: 'process' | 'machine'): string[] => [
  ...new Set(
    judgeFigures(all, schedule)
      .filter(({ figure }) => figure.of === of)
      .map(({ drift }) => drift.verdict),
  ),
];

/** Far above every floor. */
const much = 1e9;

describe('figures of a process and of the machine', () => {
  it('that leak for ever grow', () => {
    const all = points(20, [0], (at) => much * (1 + at / 20));
    expect(verdicts(all, 'process')).toEqual(['grows']);
    expect(verdicts(all, 'machine')).toEqual(['grows']);
  });

  it('that grow in the youth of each life only are flat for the process', () => {
    const all = points(30, [0, 12, 24], (_, age) => much * (1 + Math.min(age, 7) / 10));
    expect(verdicts(all, 'process')).toEqual(['flat']);
  });

  it('that grow in the warm-up only are flat', () => {
    const all = points(12, [0], (at) => much * (1 + Math.min(at, 3)));
    expect(verdicts(all, 'machine')).toEqual(['flat']);
  });

  it('of too few points are unknown', () => {
    expect(
      verdicts(
        points(6, [0], () => much),
        'process',
      ),
    ).toEqual(['unknown']);
  });
});

it('only figures with a floor are judged, and each has a name of its own', () => {
  const judged = judgeFigures(
    points(12, [0], () => 1),
    schedule,
  ).map(({ figure }) => figure.name);
  expect(judged).toEqual(figures.filter(({ floor }) => floor !== undefined).map(({ name }) => name));
  expect(new Set(figures.map(({ name }) => name)).size).toBe(figures.length);
});
