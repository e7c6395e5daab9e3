/** How long an evicted pod may take to stop. */
import type { EvictionThreshold, Pod } from '../../kube/index.js';
import { isHard } from './thresholds.js';

/** Zero would be taken for no wish at all. */
export const immediateGraceSeconds = 1;

export function evictionGraceSeconds(
  threshold: EvictionThreshold,
  pod: Pod,
  maxPodGraceSeconds: number,
): number {
  if (isHard(threshold)) return immediateGraceSeconds;
  return Math.min(maxPodGraceSeconds, pod.spec.terminationGracePeriodSeconds ?? maxPodGraceSeconds);
}
