import { expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import { priorityBucket } from './priority-bucket.js';

const podOf = (priority: number | undefined): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: [], ...(priority === undefined ? {} : { priority }) },
});

it.each([
  [2_000_000_000, 'system-critical'],
  [1_999_999_999, 'high'],
  [100_000, 'high'],
  [99_999, 'medium'],
  [1, 'medium'],
  [0, 'normal'],
  [undefined, 'normal'],
  [-1, 'low'],
  [-999, 'low'],
  [-1000, 'very-low'],
])('a pod of priority %s is counted as %s', (priority, bucket) => {
  expect(priorityBucket(podOf(priority))).toBe(bucket);
});

it('a pod that is gone is counted as unknown', () => {
  expect(priorityBucket(undefined)).toBe('unknown');
});
