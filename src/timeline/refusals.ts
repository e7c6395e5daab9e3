/** Why the node refused a pod, and what would help. */
import type { TimelineEntry } from './entry.js';
import type { WaitReason } from './wait-reasons.js';

const refusalReasons =
  /^(OutOf|NodePorts|PodOSNotSupported|SysctlForbidden|NodeAffinity|Evicted|AppArmor|UnexpectedAdmissionError)/;

/** What helps a pod that was refused for this reason. */
export function refusalRemedy(reason: string): string {
  const [, resource] = /^OutOf(.+)$/.exec(reason) ?? [];
  if (resource !== undefined && resource !== 'pods')
    return `let it request less ${resource}, or make room for it, and add it anew; "nodelet describe node" shows who holds what`;
  if (reason === 'NodeAffinity')
    return 'change its nodeSelector and affinity, or label the node with --node-labels; "nodelet describe node" shows the labels';
  return 'change the pod, or make room for it, and add it anew';
}

/** Empty for a pod that was not refused, or that was admitted later. */
export function refusals(entries: readonly TimelineEntry[]): WaitReason[] {
  const refused = entries.findLast(({ event }) => event !== undefined && refusalReasons.test(event.reason));
  if (refused === undefined || entries.some(({ what, seq }) => what === 'pod.plan' && seq > refused.seq))
    return [];
  return [
    {
      waitsFor: `nothing: it was refused (${refused.event?.reason}): ${refused.message}`,
      unblock: refusalRemedy(refused.event?.reason ?? ''),
    },
  ];
}
