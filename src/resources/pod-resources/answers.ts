/** What programs of the machine are told about who was given which parts of it. */
import { type AnyContainer, isSidecar, type Pod } from '../../kube/index.js';
import type {
  WireContainerResources,
  WireDevices,
  WireDynamicResource,
  WireMemory,
  WirePodResources,
} from './gen/pod-resources.js';
import type { AlphaPodResources } from './gen/pod-resources-alpha.js';

/** A device of a plugin. */
export interface ListedDevice {
  readonly resourceName: string;
  readonly id: string;
  /** Undefined for a device that is near to no NUMA node in particular. */
  readonly numaNodes: readonly number[] | undefined;
}

export interface ListedMemory {
  readonly type: string;
  readonly bytes: number;
  readonly numaNodes: readonly number[];
}

export interface ListedClaim {
  readonly name: string;
  readonly namespace: string;
  readonly devices: readonly {
    readonly driver: string;
    readonly poolName: string;
    readonly deviceName: string;
    readonly shareId: string | undefined;
    readonly cdiDeviceIds: readonly string[];
  }[];
}

/** Who knows what containers were given; each answers for what it gives out. */
export interface ResourceSources {
  devices(podUid: string, container: string): readonly ListedDevice[];
  /** Those that only this container may use. */
  cpus(podUid: string, container: string): readonly number[];
  memory(podUid: string, container: string): readonly ListedMemory[];
  /** What the containers of a pod share that was given to the pod as a whole. */
  podCpus(podUid: string): readonly number[];
  podMemory(podUid: string): readonly ListedMemory[];
  /** Undefined if one of the claims is not known. */
  claims(pod: Pod, container: AnyContainer): readonly ListedClaim[] | undefined;
}

/** Sidecars first, then the containers; others have given back what they were given. */
export function podResources(pod: Pod, sources: ResourceSources): WirePodResources {
  const { name, namespace, uid } = pod.metadata;
  const containers = [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers];
  return {
    name,
    namespace,
    containers: containers.map((container) => containerResources(pod, container, sources)),
    cpuIds: [...sources.podCpus(uid)],
    memory: sources.podMemory(uid).map(wireMemory),
  };
}

function containerResources(
  pod: Pod,
  container: AnyContainer,
  sources: ResourceSources,
): WireContainerResources {
  const { uid } = pod.metadata;
  return {
    name: container.name,
    devices: wireDevices(sources.devices(uid, container.name)),
    cpuIds: [...sources.cpus(uid, container.name)],
    memory: sources.memory(uid, container.name).map(wireMemory),
    dynamicResources: (sources.claims(pod, container) ?? []).map(wireClaim),
  };
}

/** One entry for each device and each of its NUMA nodes. */
export function wireDevices(devices: readonly ListedDevice[]): WireDevices[] {
  return devices.flatMap(({ resourceName, id, numaNodes }): WireDevices[] => {
    const entry = { resourceName, deviceIds: [id] };
    if (numaNodes === undefined || numaNodes.length === 0) return [entry];
    return numaNodes.map((node) => ({ ...entry, topology: { nodes: [{ id: node }] } }));
  });
}

export function wireMemory({ type, bytes, numaNodes }: ListedMemory): WireMemory {
  return { memoryType: type, size: bytes, topology: { nodes: numaNodes.map((id) => ({ id })) } };
}

/** Each device has its own CDI names; the reference kubelet repeats those of the devices before it. */
function wireClaim({ name, namespace, devices }: ListedClaim): WireDynamicResource {
  return {
    claimName: name,
    claimNamespace: namespace,
    claimResources: devices.map(({ driver, poolName, deviceName, shareId, cdiDeviceIds }) => ({
      cdiDevices: cdiDeviceIds.map((id) => ({ name: id })),
      driverName: driver,
      poolName,
      deviceName,
      ...(shareId === undefined ? {} : { shareId }),
    })),
  };
}

/** The first version knows only devices, and only those of containers that are no init containers. */
export function alphaPodResources(pod: Pod, sources: Pick<ResourceSources, 'devices'>): AlphaPodResources {
  const { name, namespace, uid } = pod.metadata;
  return {
    name,
    namespace,
    containers: pod.spec.containers.map((container) => {
      const byResource = new Map<string, string[]>();
      for (const { resourceName, id } of sources.devices(uid, container.name)) {
        byResource.set(resourceName, [...(byResource.get(resourceName) ?? []), id]);
      }
      return {
        name: container.name,
        devices: [...byResource].map(([resourceName, deviceIds]) => ({ resourceName, deviceIds })),
      };
    }),
  };
}
