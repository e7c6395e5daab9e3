/** Which containers of a pod may hold CPUs, and which of them end before others start. */
import { type AnyContainer, type Container, isSidecar, type Pod } from '../../kube/index.js';

export function startedContainers({ spec }: Pod): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

export function isOrdinaryInit({ spec }: Pod, { name }: AnyContainer): boolean {
  return spec.initContainers?.some((container) => container.name === name && !isSidecar(container)) ?? false;
}
