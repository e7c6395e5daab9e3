import { expect, it } from 'vitest';
import { encodePprof, type ProfiledFrame } from './pprof.js';
import { readPprof } from './test-pprof.js';

const frame = (name: string, line: number): ProfiledFrame => ({
  function: { name, file: '/a.js', startLine: 3 },
  line,
});

it('holds stacks, values and times', () => {
  const bytes = encodePprof({
    valueTypes: [
      { type: 'samples', unit: 'count' },
      { type: 'cpu', unit: 'nanoseconds' },
    ],
    samples: [
      { stack: [frame('leaf', 5), frame('main', 3)], values: [2, 2_000_000] },
      { stack: [frame('main', 3)], values: [1, 2 ** 40] },
    ],
    period: { type: 'cpu', unit: 'nanoseconds', value: 1_000_000 },
    startedAtMs: 1_700_000_000_000,
    durationMs: 30_000,
    comment: 'why',
  });
  expect(readPprof(bytes)).toEqual({
    valueTypes: ['samples/count', 'cpu/nanoseconds'],
    samples: [
      { stack: ['leaf /a.js:3 at 5', 'main /a.js:3 at 3'], values: [2, 2_000_000] },
      { stack: ['main /a.js:3 at 3'], values: [1, 2 ** 40] },
    ],
    durationNs: 30e9,
    period: 1_000_000,
    comment: 'why',
  });
});

it('writes what many samples share once', () => {
  const stack = Array.from({ length: 20 }, (_, depth) => frame(`function${depth}`, depth));
  const sizeOf = (count: number): number =>
    encodePprof({
      valueTypes: [{ type: 'inuse_space', unit: 'bytes' }],
      samples: Array.from({ length: count }, () => ({ stack, values: [1] })),
      period: { type: 'space', unit: 'bytes', value: 1 },
      startedAtMs: 0,
      durationMs: 0,
      comment: '',
    }).length;
  expect(sizeOf(101) - sizeOf(100)).toBeLessThan(40);
});
