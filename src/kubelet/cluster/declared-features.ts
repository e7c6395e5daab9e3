/** The features that others ask a node for before they rely on them, of those that are really there. */
import type { RuntimeBoundFeature } from '../../node/index.js';
import type { KubeletSettings } from '../settings.js';

export function declaredFeatures({ gates, config }: Pick<KubeletSettings, 'gates' | 'config'>): string[] {
  const features: string[] = [];
  if (gates.enabled('DRANodeAllocatableResources')) features.push('DRANodeAllocatableResources');
  if (gates.enabled('DRAOptionalNodeOperations')) features.push('DRAOptionalNodeOperations');
  if (gates.enabled('ExtendWebSocketsToKubelet') && config.enableServer)
    features.push('ExtendWebSocketsToKubelet');
  if (gates.enabled('InPlacePodLevelResourcesVerticalScaling'))
    features.push('InPlacePodLevelResourcesVerticalScaling');
  if (gates.enabled('InPlacePodVerticalScalingInitContainers'))
    features.push('InPlacePodVerticalScalingInitContainers');
  if (gates.enabled('InPlacePodVerticalScalingMemoryBackedVolumes'))
    features.push('InPlacePodVerticalScalingMemoryBackedVolumes');
  if (gates.enabled('RestartAllContainersOnContainerExits'))
    features.push('RestartAllContainersOnContainerExits');
  return features;
}

/** Those that are there only if the runtime says that it has its part of them. */
export function runtimeBoundFeatures(gates: KubeletSettings['gates']): RuntimeBoundFeature[] {
  const features: RuntimeBoundFeature[] = [];
  if (gates.enabled('UserNamespacesHostNetworkSupport'))
    features.push({ feature: 'UserNamespacesHostNetworkSupport', part: 'userNamespacesHostNetwork' });
  if (gates.enabled('VolumeBindMountOptions'))
    features.push({ feature: 'VolumeBindMountOptions', part: 'mountOptions' });
  return features;
}
