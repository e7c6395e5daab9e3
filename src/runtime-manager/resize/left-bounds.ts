/** Decides whether a pod's cgroup was left behind by a resize that an earlier agent began and did not finish. */
import type { PodBound, PodBounds } from '../contracts.js';

/** The kernel counts memory in pages. */
const pageBytes = 4096;
/** Shares are left out: read back from a weight they differ from what was written. */
const compared = ['quotaMicros', 'memoryLimitBytes'] as const satisfies readonly PodBound[];

/** A bound that is not wanted counts as in place: nobody takes one away. */
export function hasLeftBounds(current: PodBounds, wanted: Partial<PodBounds>): boolean {
  return compared.some((bound) => {
    const to = wanted[bound];
    return to !== undefined && inPages(bound, to) !== inPages(bound, current[bound]);
  });
}

function inPages(bound: PodBound, amount: number): number {
  return bound === 'memoryLimitBytes' && amount > 0 ? Math.floor(amount / pageBytes) : amount;
}
