/** Decides which bounds of a pod's cgroup move before its containers are resized, and which after them. */
import type { PodBound, PodBounds } from '../contracts.js';
import type { ResizedResource } from './decide-resize.js';

export interface BoundMoves {
  readonly before: readonly PodBound[];
  readonly after: readonly PodBound[];
}

/** From the limit to the request, so that a pod never requests more than its limit while both grow. */
const boundsOf: Readonly<Record<ResizedResource, readonly PodBound[]>> = {
  memory: ['memoryLimitBytes'],
  cpu: ['quotaMicros', 'cpuShares'],
};

/**
 * A bound that grows moves first, so that no container is held by what the pod had before; one that shrinks moves last.
 * No limit (-1) counts as less than every limit. A bound that is not wanted stays.
 */
export function boundMoves(
  resource: ResizedResource,
  current: PodBounds,
  wanted: Partial<PodBounds>,
): BoundMoves {
  const before: PodBound[] = [];
  const after: PodBound[] = [];
  for (const bound of boundsOf[resource]) {
    const to = wanted[bound];
    if (to === undefined || to === current[bound]) continue;
    if (to > current[bound]) before.push(bound);
    else after.unshift(bound);
  }
  return { before, after };
}

/** The bounds after one of them has moved; a quota moves with its period. */
export function withBound(current: PodBounds, wanted: Partial<PodBounds>, bound: PodBound): PodBounds {
  const { periodMicros = current.periodMicros } = wanted;
  const moved = { ...current, [bound]: wanted[bound] ?? current[bound] };
  return bound === 'quotaMicros' ? { ...moved, periodMicros } : moved;
}
