/** Tells where an admitted pod names its resources: on the pod, on its containers, on both or nowhere. */
import { isPodLevelResource, type Pod, type ResourceRequirements } from '../../kube/index.js';

export type ResourceMode = 'pod_and_container_level' | 'pod_level' | 'container_level' | '';

export function resourceMode({ spec }: Pod): ResourceMode {
  const onPod = namesOf(spec.resources).some(isPodLevelResource);
  const onContainers = [...(spec.initContainers ?? []), ...spec.containers].some(
    ({ resources }) => namesOf(resources).length > 0,
  );
  if (onPod) return onContainers ? 'pod_and_container_level' : 'pod_level';
  return onContainers ? 'container_level' : '';
}

function namesOf(resources: ResourceRequirements | undefined): string[] {
  return [resources?.requests, resources?.limits].flatMap((list) => Object.keys(list ?? {}));
}
