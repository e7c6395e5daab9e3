import { expect, it } from 'vitest';
import type { SpecResult } from './report.js';
import { formatResult, formatSummary } from './summary.js';

const passed: SpecResult = { name: 'Pods start', tookSeconds: 2.6, outcome: { kind: 'passed' } };
const failed: SpecResult = {
  name: 'Pods stop',
  tookSeconds: 300,
  outcome: { kind: 'failed', reason: 'Timed out (pods.go:1)' },
};
const skipped: SpecResult = {
  name: 'Pods fly',
  tookSeconds: 0,
  outcome: { kind: 'skipped', reason: 'no wings' },
};

it.each([
  [passed, 'passed     3 s  Pods start'],
  [failed, 'FAILED   300 s  Pods stop\n        Timed out (pods.go:1)'],
  [skipped, 'skipped    0 s  Pods fly\n        no wings'],
])('a spec is a line, with its reason below unless it passed', (result, text) => {
  expect(formatResult(result)).toBe(text);
});

it('the summary repeats the failures and counts', () => {
  const results = [passed, failed, skipped, passed];
  expect(formatSummary({ results, missingImages: ['x.test/perl:5'], tookSeconds: 75 })).toBe(
    [
      '',
      'Failed:',
      'FAILED   300 s  Pods stop',
      '        Timed out (pods.go:1)',
      '',
      'Images wanted and in no archive: x.test/perl:5',
      '',
      '2 passed, 1 failed, 1 skipped of 4 specs in 1.3 min',
    ].join('\n'),
  );
});

it('the summary of a run without failures is its count', () => {
  expect(formatSummary({ results: [passed], missingImages: [], tookSeconds: 6 })).toBe(
    '\n1 passed, 0 failed, 0 skipped of 1 specs in 0.1 min',
  );
});
