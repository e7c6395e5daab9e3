/** The values of `resourceFieldRef`: a container's requests and limits. */
import {
  type AnyContainer,
  type Pod,
  type ResourceFieldSelector,
  type ResourceList,
  type ResourceRequirements,
  resourceFieldText,
} from '../../kube/index.js';

export function resourceFieldValue(
  selector: ResourceFieldSelector,
  pod: Pod,
  container: AnyContainer,
  nodeAllocatable: ResourceList,
): string {
  const { resources, isDefaulted } = selectContainer(selector, pod, container);
  return resourceFieldText(selector, resources, isDefaulted ? limitDefaults(pod, nodeAllocatable) : {});
}

/** A container without a limit may use what its pod has, and a pod without one what the node has. */
function limitDefaults(pod: Pod, nodeAllocatable: ResourceList): ResourceList {
  const { cpu, memory } = pod.spec.resources?.limits ?? {};
  return {
    ...nodeAllocatable,
    ...(cpu === undefined ? {} : { cpu }),
    ...(memory === undefined ? {} : { memory }),
  };
}

interface SelectedContainer {
  readonly resources: ResourceRequirements | undefined;
  readonly isDefaulted: boolean;
}

/** The container itself when none is named; a named init container shows only its spec. */
function selectContainer(
  { containerName = '' }: ResourceFieldSelector,
  pod: Pod,
  own: AnyContainer,
): SelectedContainer {
  if (containerName === '') return { resources: own.resources, isDefaulted: true };
  const regular = pod.spec.containers.find(({ name }) => name === containerName);
  if (regular !== undefined) return { resources: regular.resources, isDefaulted: true };
  const init = pod.spec.initContainers?.find(({ name }) => name === containerName);
  if (init !== undefined) return { resources: init.resources, isDefaulted: false };
  throw new Error(`container ${containerName} not found`);
}
