import { describe, expect, it } from 'vitest';
import { parseOptions, type SoakOptions } from './options.js';

const minute = 60_000;
const parse = (...argv: string[]): SoakOptions => parseOptions(argv, 5_000_000);

describe('arguments of a soak', () => {
  const rows: [argv: string[], expected: Partial<SoakOptions>][] = [
    [[], { durationMs: 60 * minute, seed: 5000, cluster: false, quick: false }],
    [['--hours', '8'], { durationMs: 480 * minute }],
    [['--hours', '1', '--minutes', '30'], { durationMs: 90 * minute }],
    [['--minutes=0.5'], { durationMs: 30_000 }],
    [['--seed', '7', '--cluster'], { seed: 7, cluster: true }],
    [['--quick'], { durationMs: minute, quick: true }],
    [['--report', 'x'], { reportDir: 'x', snapshots: false }],
    [['--snapshots'], { snapshots: true }],
  ];
  it.each(rows)('%j', (argv, expected) => {
    expect(parse(...argv)).toMatchObject(expected);
  });

  it.each([
    [['--hours', 'long'], '--hours needs a number'],
    [['--hours', '-1'], 'hours'],
    [['--hours', '1e9'], '--hours needs a number from 0 to 336'],
    [['--minutes', ''], '--minutes needs a number'],
    [['--seed', '1.5'], '--seed needs a whole number'],
    [['--quick', '--hours', '2'], 'leave out --hours'],
    [['--fast'], '--fast'],
  ])('%j is refused', (argv, message) => {
    expect(() => parse(...argv)).toThrow(message);
  });
});
