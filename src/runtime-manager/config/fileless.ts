/** Configs for runtimes without files: simulated ones and virtual nodes. */
import type { ContainerConfig, Init, PodSandboxConfig } from '../../cri/index.js';
import { NamespaceMode } from '../../cri/index.js';
import { isHostNetwork, type Pod } from '../../kube/index.js';
import type { ContainerConfigRequest, PodConfigs } from '../contracts.js';
import { addedMounts, withAdditions } from './additions.js';
import { containerAnnotations, containerLabels, sandboxAnnotations, sandboxLabels } from './labels.js';
import {
  boundedSandboxResources,
  containerResources,
  overheadResources,
  sandboxResources,
} from './resources.js';
import { runtimeSettings } from './settings.js';

/** A machine without known facts. */
const machineless = runtimeSettings({ nodeName: '' });

/** Identifies a pod and its containers and what they run; says nothing about the machine. */
export const filelessPodConfigs: PodConfigs = {
  async sandbox(pod: Pod, attempt: number): Promise<Init<PodSandboxConfig>> {
    const { name, namespace, uid } = pod.metadata;
    return {
      metadata: { name, namespace, uid, attempt },
      labels: sandboxLabels(pod),
      annotations: sandboxAnnotations(pod),
      linux: {
        securityContext: {
          namespaceOptions: { network: isHostNetwork(pod) ? NamespaceMode.NODE : NamespaceMode.POD },
        },
      },
    };
  },
  async container({ pod, container, restartCount, image, additions }: ContainerConfigRequest) {
    const config: Init<ContainerConfig> = {
      metadata: { name: container.name, attempt: restartCount },
      image: { image: image.ref, userSpecifiedImage: container.image ?? '' },
      command: container.command ?? [],
      args: container.args ?? [],
      labels: containerLabels(pod, container),
      annotations: containerAnnotations(pod, container, restartCount),
    };
    const mounts = [...addedMounts(additions)];
    const given = withAdditions(mounts.length === 0 ? config : { ...config, mounts }, additions);
    return { config: given, cleanup: async () => {} };
  },
  containerResources: (pod, container) => containerResources(pod, container, machineless),
  podResources: (pod, bounds) => ({
    resources:
      bounds === undefined
        ? sandboxResources(pod, machineless)
        : boundedSandboxResources(pod, bounds, machineless),
    overhead: overheadResources(pod, machineless),
  }),
};
