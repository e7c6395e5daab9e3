/** The interfaces that the kubelet needs from the rooms around it; where an optional one is absent, its step is left out. */
import type { ObjectStore, Pod } from '../kube/index.js';
import type { ContainerVolumes, PodCgroupResizing } from '../runtime-manager/contracts.js';
import type { ObservedVolume, VolumeFigures } from '../volumes/index.js';

/** The cgroups that pods live in. */
export interface PodCgroups {
  /** Absent where pods have no cgroup of their own. */
  readonly bounds?: PodCgroupResizing;
  /** UIDs of the pods that have a cgroup. */
  list(): Promise<readonly string[]>;
  exists(pod: Pod): Promise<boolean>;
  ensure(pod: Pod): Promise<void>;
  destroy(pod: Pod): Promise<void>;
  /** Destroys in the background; a failure is reported and tried again by the next pass. */
  destroyLater(uid: string): void;
  /** Leaves a pod's memory accounted but gives it next to no CPU. */
  minimizeCpu(uid: string): Promise<void>;
  parentOf(pod: Pod): string;
  /** Told once how to ask for the pods that may use resources; shares of QoS classes follow them. */
  follow?(activePods: () => readonly Pod[]): void;
  /** Told once how to ask whether a container of a pod has CPUs for itself; such a pod has no CPU quota. */
  followExclusiveCpus?(hasExclusiveCpus: (pod: Pod) => boolean): void;
}

/** The stand-ins of static pods in the API. */
export interface MirrorPods {
  /** Makes the mirror agree with the static pod; failures are reported, not thrown. */
  reconcile(pod: Pod, mirror: Pod | undefined): Promise<void>;
  delete(fullName: string): Promise<void>;
}

/** The ConfigMaps and Secrets of pods, with news of what changed where the store can tell. */
export interface PodObjects extends ObjectStore {
  /** Tells which registered pods use something that changed; returns how to end that. */
  onChange?(listener: (change: { readonly podUids: readonly string[] }) => void): () => void;
}

/** The volumes of pods. */
export interface PodVolumes extends ContainerVolumes {
  /** Resolves once all volumes of the pod are mounted; gives up by itself after two minutes. */
  waitForMounts(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Resolves once none of the pod's volumes is mounted any more; gives up by itself after two minutes. */
  waitForUnmounts(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Whether something of the pod's volumes is still there. */
  exist(uid: string): boolean;
  /** Where a volume of a pod lies on the machine; undefined while it is not mounted. */
  volumeDirectory(pod: Pod, volumeName: string): string | undefined;
  /** The name of the driver that serves a mounted volume; undefined if none does. */
  volumeDriver?(pod: Pod, volumeName: string): string | undefined;
  /** Gives a mounted volume in memory another size. Absent: no volume can be resized. */
  resizeVolume?(pod: Pod, volumeName: string, sizeBytes: bigint, signal?: AbortSignal): Promise<void>;
  /** How full a volume is, by its driver; undefined if no driver tells. */
  measureVolume?(pod: Pod, volumeName: string, signal: AbortSignal): Promise<VolumeFigures | undefined>;
  /** The volumes of drivers that are or may be mounted, with the way to ask for their health. */
  observedVolumes?(): readonly ObservedVolume[];
  /** Groups that containers of the pod get for its volumes. */
  volumeGroups(pod: Pod): readonly number[];
  /** Told when something changed that volumes of these pods may show. */
  objectsChanged(uids: ReadonlySet<string>): void;
  /** Told when pods may have ended. */
  podsChanged(): void;
  /** Unique names of volumes that nobody may detach from the node; undefined while that is not known. */
  volumesInUse?(): readonly string[] | undefined;
  /** Told what the cluster knows to be in use. */
  volumesReported?(names: readonly string[]): void;
  /** Told when what the cluster has attached, or needs to attach, may have changed. */
  attachmentsChanged?(): void;
  /** Told when a driver of the plugin can be used. */
  driverReady?(pluginName: string): void;
  /** Takes over what an earlier run left; called before any pod is synced. */
  start(): Promise<void>;
  /** Awaits what is under way. */
  stop(): Promise<void>;
}

/** The workers that probe containers. */
export interface PodProbes {
  add(pod: Pod): void;
  stopLivenessAndStartup(pod: Pod): void;
  remove(pod: Pod): void;
}

/** A build without volumes: pods that want one are told so. */
export const withoutVolumes: PodVolumes = {
  async waitForMounts(pod) {
    const [volume] = pod.spec.volumes ?? [];
    if (volume === undefined) return;
    const kind = Object.keys(volume).find((key) => key !== 'name') ?? 'emptyDir';
    throw new Error(
      `volume "${volume.name}" is of kind ${kind}, and this build mounts no volumes; remove it from spec.volumes`,
    );
  },
  waitForUnmounts: async () => {},
  exist: () => false,
  mounts: async () => [],
  devices: async () => [],
  volumeDirectory: () => undefined,
  volumeGroups: () => [],
  objectsChanged: () => {},
  podsChanged: () => {},
  start: async () => {},
  stop: async () => {},
};
