/** The priority of a pod, as coarse as metrics tell it. */
import type { Pod } from '../../kube/index.js';

export const priorityBuckets = [
  'system-critical',
  'high',
  'medium',
  'normal',
  'low',
  'very-low',
  'unknown',
] as const;

export function priorityBucket(pod: Pod | undefined): (typeof priorityBuckets)[number] {
  if (pod === undefined) return 'unknown';
  const { priority = 0 } = pod.spec;
  if (priority >= 2_000_000_000) return 'system-critical';
  if (priority >= 100_000) return 'high';
  if (priority > 0) return 'medium';
  if (priority === 0) return 'normal';
  return priority > -1000 ? 'low' : 'very-low';
}
