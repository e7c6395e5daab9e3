/** What a pod was given against what it asks for: the record of a pod, the pod seen through it, and whether they differ. */
import {
  compareQuantities,
  type Pod,
  type PodResourceEntry,
  parseQuantity,
  type ResourceList,
  type ResourceRequirements,
  semanticEqual,
} from '../../kube/index.js';

/** All that the pod asks for, as it is recorded once it is given. */
export function entryOf({ spec }: Pod): PodResourceEntry {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  return {
    ContainerResources: Object.fromEntries(containers.map(({ name, resources = {} }) => [name, resources])),
    ...(spec.resources === undefined ? {} : { PodLevelResources: spec.resources }),
  };
}

/** The pod as if it asked for what it was given. A container that the record does not know is left as it is. */
export function withEntry(pod: Pod, entry: PodResourceEntry | undefined): Pod {
  if (entry === undefined || !differs(pod, entry)) return pod;
  const { resources: _, ...spec } = pod.spec;
  const given = <C extends { name: string; resources?: ResourceRequirements }>(container: C): C => {
    const resources = recorded(entry, container.name);
    return resources === undefined ? container : { ...container, resources };
  };
  return {
    ...pod,
    spec: {
      ...spec,
      containers: spec.containers.map(given),
      ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(given) }),
      ...(entry.PodLevelResources === undefined ? {} : { resources: entry.PodLevelResources }),
    },
  };
}

/** Whether the pod asks for anything else than the record has. */
export function differs({ spec }: Pod, entry: PodResourceEntry): boolean {
  if (!sameRequirements(spec.resources, entry.PodLevelResources)) return true;
  return [...(spec.initContainers ?? []), ...spec.containers].some(({ name, resources }) => {
    const given = recorded(entry, name);
    return given !== undefined && !sameRequirements(resources, given);
  });
}

function recorded(entry: PodResourceEntry, container: string): ResourceRequirements | undefined {
  const all = entry.ContainerResources ?? {};
  return Object.hasOwn(all, container) ? all[container] : undefined;
}

/** Amounts are compared by value; one that is absent is not the same as zero. */
export function sameRequirements(
  a: ResourceRequirements | undefined,
  b: ResourceRequirements | undefined,
): boolean {
  return (
    sameAmounts(a?.requests, b?.requests) &&
    sameAmounts(a?.limits, b?.limits) &&
    semanticEqual(a?.claims, b?.claims)
  );
}

function sameAmounts(a: ResourceList = {}, b: ResourceList = {}): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && sameAmount(a[name], b[name]));
}

export function sameAmount(a: string | undefined, b: string | undefined): boolean {
  if (a === b || a === undefined || b === undefined) return a === b;
  return compareQuantities(parseQuantity(a), parseQuantity(b)) === 0;
}
