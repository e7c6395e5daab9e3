/** All fuzz targets, in the order in which a run takes them. */
import type { Target } from './target.js';
import { apiTargets } from './targets/api/targets.js';
import { dnsTargets } from './targets/dns.js';
import { kubernetesTargets } from './targets/kubernetes.js';
import { liveTargets } from './targets/live.js';
import { nodeTargets } from './targets/node.js';
import { recordTargets } from './targets/records.js';
import { wireTargets } from './targets/wire.js';

export const targets: readonly Target[] = [
  ...wireTargets,
  ...dnsTargets,
  ...kubernetesTargets,
  ...apiTargets,
  ...nodeTargets,
  ...recordTargets,
  ...liveTargets,
];

export function targetOf(name: string): Target {
  const target = targets.find((candidate) => candidate.name === name);
  if (target !== undefined) return target;
  throw new Error(`there is no target ${name}; there are ${targets.map((each) => each.name).join(', ')}`);
}
