/** What a pod was given against what it asks for: the record of a pod, the pod seen through it, and whether they differ. */
import {
  compareQuantities,
  memoryVolumeLimits,
  type Pod,
  type PodResourceEntry,
  parseQuantity,
  type ResourceList,
  type ResourceRequirements,
  semanticEqual,
  type Volume,
} from '../../kube/index.js';

/** All that the pod asks for, as it is recorded once it is given; the sizes of volumes in memory only where they are followed. */
export function entryOf(pod: Pod, { hasVolumes = false } = {}): PodResourceEntry {
  const { spec } = pod;
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const limits = hasVolumes ? memoryVolumeLimits(pod) : new Map<string, string>();
  return {
    ContainerResources: Object.fromEntries(containers.map(({ name, resources = {} }) => [name, resources])),
    ...(spec.resources === undefined ? {} : { PodLevelResources: spec.resources }),
    ...(limits.size === 0 ? {} : { EmptyDirVolumeLimits: Object.fromEntries(limits) }),
  };
}

/** The pod as if it asked for what it was given. A container or volume that the record does not know is left as it is. */
export function withEntry(pod: Pod, entry: PodResourceEntry | undefined): Pod {
  if (entry === undefined || !differs(pod, entry)) return pod;
  const { resources: _, ...spec } = pod.spec;
  const given = <C extends { name: string; resources?: ResourceRequirements }>(container: C): C => {
    const resources = recorded(entry.ContainerResources, container.name);
    return resources === undefined ? container : { ...container, resources };
  };
  return {
    ...pod,
    spec: {
      ...spec,
      containers: spec.containers.map(given),
      ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(given) }),
      ...(entry.PodLevelResources === undefined ? {} : { resources: entry.PodLevelResources }),
      ...(spec.volumes === undefined
        ? {}
        : { volumes: spec.volumes.map((volume) => givenVolume(volume, entry)) }),
    },
  };
}

function givenVolume(volume: Volume, entry: PodResourceEntry): Volume {
  const sizeLimit = recorded(entry.EmptyDirVolumeLimits, volume.name);
  if (sizeLimit === undefined || volume.emptyDir?.medium !== 'Memory') return volume;
  return { ...volume, emptyDir: { ...volume.emptyDir, sizeLimit } };
}

/** Whether the pod asks for anything else than the record has. */
export function differs(pod: Pod, entry: PodResourceEntry): boolean {
  const { spec } = pod;
  if (!sameRequirements(spec.resources, entry.PodLevelResources)) return true;
  for (const [name, limit] of memoryVolumeLimits(pod)) {
    const given = recorded(entry.EmptyDirVolumeLimits, name);
    if (given !== undefined && !sameAmount(limit, given)) return true;
  }
  return [...(spec.initContainers ?? []), ...spec.containers].some(({ name, resources }) => {
    const given = recorded(entry.ContainerResources, name);
    return given !== undefined && !sameRequirements(resources, given);
  });
}

function recorded<T>(all: Readonly<Record<string, T>> = {}, name: string): T | undefined {
  return Object.hasOwn(all, name) ? all[name] : undefined;
}

/** Whether the record has all volumes of the pod whose sizes are followed. */
export function hasVolumesOf(entry: PodResourceEntry, pod: Pod): boolean {
  return [...memoryVolumeLimits(pod).keys()].every(
    (name) => recorded(entry.EmptyDirVolumeLimits, name) !== undefined,
  );
}

/** Whether a volume in memory gets another size; one that had no limit before keeps its size. */
export function changesMemoryVolumes(before: Pod, after: Pod): boolean {
  const limits = memoryVolumeLimits(before);
  return [...memoryVolumeLimits(after)].some(
    ([name, limit]) => limits.has(name) && !sameAmount(limits.get(name), limit),
  );
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
