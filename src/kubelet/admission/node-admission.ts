/** Who is asked whether a pod may run on this node, in order. */
import { release } from 'node:os';
import type { RuntimeBoundFeature } from '../../node/index.js';
import { declaredFeatures, runtimeBoundFeatures } from '../cluster/declared-features.js';
import type { KubeletSettings } from '../settings.js';
import { type AdmissionRule, operatingSystem, podLimit, together } from './admission.js';
import { freeHostPorts } from './host-ports.js';
import { declaredNodeFeatures } from './needed-features.js';
import {
  type DevicesInUse,
  enoughResources,
  nodeAffinityHandler,
  operatingSystemLabel,
  toleratedTaints,
} from './node-fit.js';
import { podLevelResources } from './pod-level-admission.js';
import { type PressureNow, withoutPressure } from './pressure.js';
import { appArmor, strictGroups } from './security-admission.js';
import { allowedSysctls } from './sysctls.js';

export function nodeAdmission(
  {
    config,
    gates,
    nodeName,
    host,
    node,
  }: Pick<KubeletSettings, 'config' | 'gates' | 'nodeName' | 'host' | 'node'>,
  {
    hasStrictGroups,
    runtimeHas,
    pressure,
    devicesInUse,
  }: {
    readonly hasStrictGroups: () => boolean;
    /** Whether the runtime says that it has its part of a feature. */
    readonly runtimeHas: (part: RuntimeBoundFeature['part']) => boolean;
    readonly pressure: PressureNow;
    readonly devicesInUse?: DevicesInUse | undefined;
  },
): readonly AdmissionRule[] {
  return [
    withoutPressure(pressure),
    allowedSysctls(config.allowedUnsafeSysctls, release()),
    operatingSystemLabel(node),
    operatingSystem,
    strictGroups(hasStrictGroups),
    together([
      podLimit(config.maxPods),
      enoughResources(node, devicesInUse),
      nodeAffinityHandler(nodeName, node),
      freeHostPorts,
      toleratedTaints(node, gates.enabled('TaintTolerationComparisonOperators')),
    ]),
    appArmor(host.isAppArmorEnabled),
    podLevelResources(gates.enabled('PodLevelResources')),
    declaredNodeFeatures(() => [
      ...declaredFeatures({ gates, config }),
      ...runtimeBoundFeatures(gates)
        .filter(({ part }) => runtimeHas(part))
        .map(({ feature }) => feature),
    ]),
  ];
}
