/** Who is asked whether a pod may run on this node, in order. */
import { release } from 'node:os';
import type { Node } from '../../kube/index.js';
import type { KubeletContext } from '../settings.js';
import { type AdmissionHandler, operatingSystem, podLimit } from './admission.js';
import { freeHostPorts } from './host-ports.js';
import { enoughResources, nodeAffinityHandler, operatingSystemLabel, toleratedTaints } from './node-fit.js';
import { appArmor, strictGroups } from './security-admission.js';
import { allowedSysctls } from './sysctls.js';

export function nodeAdmission(
  { config, nodeName, host }: KubeletContext,
  nodeNow: () => Node | undefined,
  hasStrictGroups: () => boolean,
): readonly AdmissionHandler[] {
  return [
    allowedSysctls(config.allowedUnsafeSysctls, release()),
    operatingSystemLabel(nodeNow),
    operatingSystem,
    strictGroups(hasStrictGroups),
    podLimit(config.maxPods),
    enoughResources(nodeNow),
    nodeAffinityHandler(nodeName, nodeNow),
    freeHostPorts,
    toleratedTaints(nodeNow),
    appArmor(host.isAppArmorEnabled),
  ];
}
