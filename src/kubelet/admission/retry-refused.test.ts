import { describe, expect, it } from 'vitest';
import { type LastChanges, pauseMs, type RefusedBefore, remedyOf, retryDecision } from './retry-refused.js';

it.each([
  ['OutOfcpu', 'room'],
  ['OutOfexample.com/gpu', 'room'],
  ['OutOfpods', 'room'],
  ['UnexpectedAdmissionError', 'room'],
  ['TopologyAffinityError', 'room'],
  ['NodePorts', 'room'],
  ['Evicted', 'room'],
  ['NodeAffinity', 'node'],
  ["node(s) had taints that the pod didn't tolerate", 'node'],
  ['PodOSSelectorNodeLabelDoesNotMatch', 'node'],
  ['PodOSNotSupported', 'none'],
  ['SysctlForbidden', 'none'],
  ['AppArmor', 'none'],
  ['SupplementalGroupsPolicyNotSupported', 'none'],
  ['NodeShutdown', 'none'],
  ['of somebody else', 'none'],
])('%s: what helps is %s', (reason, remedy) => {
  expect(remedyOf(reason)).toBe(remedy);
});

it('the pause doubles up to five minutes', () => {
  expect([1, 2, 3, 8, 9, 1000].map(pauseMs)).toEqual([2000, 4000, 8000, 256_000, 300_000, 300_000]);
});

describe('a pod that was refused at 100 s for the first time', () => {
  const refused = (more: Partial<RefusedBefore> = {}): RefusedBefore => ({
    remedy: 'room',
    refusals: 1,
    refusedAtMs: 100_000,
    ...more,
  });
  const nothing: LastChanges = { roomAtMs: undefined, nodeAtMs: undefined };
  it.each<[rule: string, RefusedBefore, LastChanges, nowS: number, expected: string]>([
    ['waits while nothing changes', refused(), nothing, 399, 'later'],
    ['is tried after the longest pause', refused(), nothing, 400, 'it was refused a while ago'],
    ['waits for the pause even with room', refused(), { ...nothing, roomAtMs: 100_500 }, 101, 'later'],
    ['is tried with room', refused(), { ...nothing, roomAtMs: 100_500 }, 102, 'another pod has made room'],
    ['is not tried for room of earlier', refused(), { ...nothing, roomAtMs: 99_999 }, 150, 'later'],
    ['is tried with another node', refused(), { ...nothing, nodeAtMs: 120_000 }, 120, 'the node has changed'],
    [
      'pauses longer after more refusals',
      refused({ refusals: 4 }),
      { ...nothing, roomAtMs: 101_000 },
      115,
      'later',
    ],
    [
      'needs another node, not room',
      refused({ remedy: 'node' }),
      { ...nothing, roomAtMs: 101_000 },
      150,
      'later',
    ],
    [
      'gets another node',
      refused({ remedy: 'node' }),
      { ...nothing, nodeAtMs: 101_000 },
      150,
      'the node has changed',
    ],
    [
      'is never tried where nothing helps',
      refused({ remedy: 'none' }),
      { roomAtMs: 101_000, nodeAtMs: 101_000 },
      100_000,
      'never',
    ],
  ])('%s', (_rule, before, changes, nowS, expected) => {
    const decision = retryDecision(before, changes, nowS * 1000);
    expect(decision.kind === 'now' ? decision.because : decision.kind).toBe(expected);
  });
});
