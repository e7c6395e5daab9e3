/** Judges each eviction at the moment when the kubelet decides it. */
import type { TimelineEntry } from '../../src/timeline/index.js';
import type { SimulatedNode } from '../world/simulated-node.js';
import type { Users } from '../world/users.js';
import type { Report } from './violation.js';

export function judgeEviction(
  { pod, data, message }: TimelineEntry,
  { node, users, report }: { readonly node: SimulatedNode; readonly users: Users; readonly report: Report },
): void {
  if (pod === undefined) return;
  // An eviction tells of the grace that it gives.
  const { graceSeconds } = data as { readonly graceSeconds: number };
  users.evicted(pod.uid, graceSeconds);
  if (node.load?.wasSeenPressed !== true)
    report(
      'nobody is evicted without need',
      `${pod.name}: ${message}; the node had enough at its last looks`,
    );
}
