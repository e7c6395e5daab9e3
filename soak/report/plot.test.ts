import { describe, expect, it } from 'vitest';
import { amount } from './amount.js';
import { drawPlot, minutesOf, type Plot, plotSize, rangeOf, ticksOf } from './plot.js';

const plot = (more: Partial<Plot> = {}): Plot => ({
  title: 'Handles',
  note: 'flat',
  state: 'flat',
  samples: [],
  quiet: [],
  marks: [],
  endMs: 600_000,
  judgedFromMs: undefined,
  base: 10,
  format: (value) => String(value),
  ...more,
});

/** The corners of every line, from the attribute that has them. */
const cornersOf = (svg: string): number[][][] =>
  [...svg.matchAll(/<polyline class="samples" points="([^"]*)"/g)].map(([, points = '']) =>
    points.split(' ').map((pair) => pair.split(',').map(Number)),
  );

describe('a plot', () => {
  it('keeps everything within its frame, the first sample left and the highest on top', () => {
    const samples = Array.from({ length: 60 }, (_, at) => ({
      atMs: at * 10_000,
      value: at % 2 === 0 ? 10 : 90,
    }));
    const [line = []] = cornersOf(drawPlot(plot({ samples })));
    expect(line).toHaveLength(60);
    for (const [x = -1, y = -1] of line) {
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x).toBeLessThanOrEqual(plotSize.width);
      expect(y).toBeGreaterThanOrEqual(0);
      expect(y).toBeLessThanOrEqual(plotSize.height);
    }
    expect((line[0] ?? [])[0]).toBeLessThan((line[1] ?? [])[0] ?? 0);
    expect((line[1] ?? [])[1]).toBeLessThan((line[0] ?? [])[1] ?? 0);
  });

  it('breaks the line where nothing was measured', () => {
    const samples = [0, 10, 20, 100, 110].map((seconds) => ({ atMs: seconds * 1000, value: 1 }));
    expect(cornersOf(drawPlot(plot({ samples }))).map(({ length }) => length)).toEqual([3, 2]);
  });

  it('shows quiet points, faults and the warm-up', () => {
    const svg = drawPlot(
      plot({
        quiet: [{ atMs: 1, value: 1 }],
        marks: [{ atMs: 5, kind: 'kill-agent' }],
        judgedFromMs: 300_000,
      }),
    );
    expect(svg).toContain('<circle class="quiet"');
    expect(svg).toContain('class="mark kill-agent"');
    expect(svg).toContain('class="warm-up"');
  });

  it('takes text as text', () => {
    expect(drawPlot(plot({ title: '<b>"&', note: '</svg>' }))).toContain('&lt;b&gt;&quot;&amp;');
  });

  it('of nothing is still one', () => {
    expect(drawPlot(plot({ endMs: 0 }))).not.toContain('NaN');
  });
});

it.each([
  [[], [0, 1]],
  [
    [0, 0],
    [0, 1],
  ],
  [
    [100, 100],
    [90, 110],
  ],
  [
    [0, 100],
    [0, 110],
  ],
])('the range of %j is %j', (values, range) => {
  expect(rangeOf(values)).toEqual(range);
});

it.each([
  [0, 1],
  [90, 110],
  [0, 8_000_000],
  [3.2, 3.9],
])('from %d to %d there are two to five ticks, all within', (low, high) => {
  const ticks = ticksOf(low, high);
  expect(ticks.length).toBeGreaterThanOrEqual(2);
  expect(ticks.length).toBeLessThanOrEqual(5);
  expect(ticks.every((value) => value >= low && value <= high)).toBe(true);
});

it('ticks of bytes are round in binary', () => {
  expect(ticksOf(0, 48 * 1024 * 1024, 2).map((value) => value / 1024 / 1024)).toEqual([0, 16, 32, 48]);
});

it.each([
  [0, 1],
  [20, 5],
  [60, 7],
  [8 * 60, 5],
  [14 * 24 * 60, 8],
])('%d minutes have at most %d marks of time', (minutes, most) => {
  expect(minutesOf(minutes * 60_000).length).toBeLessThanOrEqual(most);
});

it.each([
  [0, 'bytes', '0 B'],
  [1536, 'bytes', '1.50 KiB'],
  [104_857_600, 'bytes', '100 MiB'],
  [-2048, 'bytes', '-2 KiB'],
  [12, 'count', '12'],
  [1.234, 'per second', '1.23/s'],
  [13.3, 'ms per second', '13.3 ms/s'],
  [0.001, 'ms', '0 ms'],
] as const)('%d in %s is %s', (value, unit, text) => {
  expect(amount(value, unit)).toBe(text);
});
