/** Finds out what a pod was given when the record of it is lost: from what its containers have in force. */
import type { ObservedPodStatus } from '../../cri/index.js';
import {
  type AnyContainer,
  memoryVolumeLimits,
  type Pod,
  quantityMillis,
  type ResourceList,
  type ResourceRequirements,
  type Volume,
} from '../../kube/index.js';
import { requirementsInForce, wantedResources } from '../../runtime-manager/resize/index.js';

export interface ReconstructSources {
  /** What the pod's containers were last given; undefined of a pod that is not known. */
  readonly actuated: (container: string) => ResourceRequirements | undefined;
  readonly actuatedPod: ResourceRequirements | undefined;
  /** The size limit that a volume in memory was last given; undefined where that is not known. */
  readonly actuatedVolume: (volume: string) => string | undefined;
  readonly observed: ObservedPodStatus;
}

/** Undefined for a pod of which the runtime shows nothing: it was never admitted, or has nothing left to keep. */
export function reconstructAllocated(pod: Pod, sources: ReconstructSources): Pod | undefined {
  const { observed } = sources;
  if (observed.sandboxes.length === 0 && observed.containers.length === 0) return undefined;
  const { spec } = pod;
  const given = <C extends AnyContainer>(container: C): C => {
    const inForce = sources.actuated(container.name) ?? observedResources(pod, container, observed);
    return inForce === undefined ? container : { ...container, resources: ownPart(pod, container, inForce) };
  };
  const own = sources.actuatedPod;
  const limits = memoryVolumeLimits(pod);
  return {
    ...pod,
    spec: {
      ...spec,
      containers: spec.containers.map(given),
      ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(given) }),
      ...(spec.resources === undefined || own === undefined
        ? {}
        : { resources: withAmounts(spec.resources, own, () => true) }),
      ...(spec.volumes === undefined
        ? {}
        : { volumes: spec.volumes.map((volume) => givenVolume(volume, limits, sources)) }),
    },
  };
}

function givenVolume(
  volume: Volume,
  limits: ReadonlyMap<string, string>,
  { actuatedVolume }: ReconstructSources,
): Volume {
  const sizeLimit = limits.has(volume.name) ? actuatedVolume(volume.name) : undefined;
  if (sizeLimit === undefined || quantityMillis(sizeLimit) === 0) return volume;
  return { ...volume, emptyDir: { ...volume.emptyDir, sizeLimit } };
}

/** What the API was last told fills the gaps of what the runtime tells. */
function observedResources(
  pod: Pod,
  container: AnyContainer,
  { containers }: ObservedPodStatus,
): ResourceRequirements | undefined {
  const running = containers.find(({ name, state }) => name === container.name && state === 'running');
  const told = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])].find(
    ({ name }) => name === container.name,
  );
  const wanted = wantedResources(pod, container);
  const known: ResourceRequirements = {
    requests: { ...wanted.requests, ...told?.allocatedResources },
    limits: { ...wanted.limits, ...told?.resources?.limits },
  };
  return running === undefined ? told && known : requirementsInForce(known, running.resources);
}

/** What is in force has the pod's limits filled in where the container has none; those are not its own. */
function ownPart(
  pod: Pod,
  { resources = {} }: AnyContainer,
  inForce: ResourceRequirements,
): ResourceRequirements {
  return withAmounts(resources, inForce, (list, name) => {
    if (list === 'requests') return true;
    return resources.limits?.[name] !== undefined || pod.spec.resources?.limits?.[name] === undefined;
  });
}

function withAmounts(
  base: ResourceRequirements,
  inForce: ResourceRequirements,
  isOwn: (list: 'requests' | 'limits', name: string) => boolean,
): ResourceRequirements {
  const merged = (list: 'requests' | 'limits'): ResourceList => {
    const amounts: ResourceList = { ...base[list] };
    for (const name of ['cpu', 'memory']) {
      const amount = inForce[list]?.[name];
      if (!isOwn(list, name)) continue;
      if (amount !== undefined && quantityMillis(amount) > 0) amounts[name] = amount;
    }
    return amounts;
  };
  const [requests, limits] = [merged('requests'), merged('limits')];
  return {
    ...base,
    ...(Object.keys(requests).length === 0 ? {} : { requests }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}
