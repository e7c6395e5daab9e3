import { expect, it } from 'vitest';
import type { Pod, PodStatus } from '../../kube/index.js';
import { isOverdue } from './active-deadline.js';

const start = '2026-01-01T00:00:00Z';
const startMs = Date.parse(start);
const later = '2026-01-01T00:00:30Z';

const podWith = (activeDeadlineSeconds?: number, status?: PodStatus): Pod => ({
  metadata: { name: 'p', namespace: 'default', uid: 'p' },
  spec: { containers: [], activeDeadlineSeconds },
  status,
});

it.each([
  ['no deadline', podWith(), { startTime: start }, 1_000_000, false, false],
  ['not started', podWith(10), undefined, 1_000_000, false, false],
  ['a millisecond before its deadline', podWith(10), { startTime: start }, 9_999, false, false],
  ['at its deadline', podWith(10), { startTime: start }, 10_000, false, true],
  ['past it, but being stopped already', podWith(10), { startTime: start }, 10_000, true, false],
  ['only the API knows the start', podWith(10, { startTime: start }), undefined, 10_000, false, true],
  [
    'the start known here counts before the one of the API',
    podWith(10, { startTime: start }),
    { startTime: later },
    10_000,
    false,
    false,
  ],
])('%s', (_rule, pod, status, afterMs, isTerminationRequested, overdue) => {
  expect(isOverdue(pod, { status, isTerminationRequested, nowMs: startMs + afterMs })).toBe(overdue);
});
