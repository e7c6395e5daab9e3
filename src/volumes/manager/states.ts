/** The desired and actual state of volumes, as plain data. */
import type { Pod } from '../../kube/index.js';
import type { PodRef } from '../../timeline/index.js';
import type { ClaimKey, ContainerVolumeMode, VolumeSpec } from '../contracts.js';
import type { VolumeSizes } from '../expansion/index.js';

/** A volume that a pod should have. */
export interface WantedMount {
  /** Names the volume across pods if they share a device, otherwise together with the pod. */
  readonly uniqueName: string;
  readonly podUid: string;
  readonly pluginName: string;
  readonly innerName: string;
  readonly mode: ContainerVolumeMode;
  /** The names in the pod's spec for this volume; two may name the same claim. */
  readonly volumeNames: readonly string[];
  /** Whether a device is mounted once for all pods. */
  readonly hasDevice: boolean;
  /** Whether set-up is repeated each time the pod is processed. */
  readonly refreshes: boolean;
  /** As last processed. */
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** A group that the persistent volume requires. */
  readonly extraGroup: number | undefined;
  /** The driver that serves it; undefined for volumes that the node itself mounts. */
  readonly driver?: string | undefined;
  /** How large it is and should be; undefined for volumes without a claim that has a status. */
  readonly size?: WantedSize | undefined;
  /** The SELinux label that it is mounted with; empty or absent: none. */
  readonly seLinuxLabel?: string | undefined;
  /** The same if volumes of all access modes were mounted with their labels. */
  readonly seLinuxLabelInAllModes?: string | undefined;
}

/** As the claim and its PersistentVolume showed it when the pod was last processed. */
export interface WantedSize {
  readonly claim: ClaimKey;
  readonly claimBytes: bigint;
  readonly volumeBytes: bigint;
  /** What an expansion is at; another text is news. */
  readonly progress: string;
}

/** A pod's volume that is or may be mounted. */
export interface ActualMount {
  readonly uniqueName: string;
  readonly podUid: string;
  readonly pluginName: string;
  readonly innerName: string;
  readonly mode: ContainerVolumeMode;
  /** `uncertain`: something may be there. It counts as unmounted for starting and as mounted for cleaning up. */
  readonly state: 'mounted' | 'uncertain';
  /** Found on disk at startup and not set up since; a failed set-up must not remove it. */
  readonly reconstructed: boolean;
  readonly remountRequired: boolean;
  readonly driver?: string | undefined;
  readonly seLinuxLabel?: string | undefined;
  /** The pod's name; unknown for a reconstructed mount. */
  readonly owner: PodRef | undefined;
}

/** A device that is or may be mounted for all pods. */
export interface ActualDevice {
  readonly uniqueName: string;
  readonly pluginName: string;
  readonly innerName: string;
  readonly mode: ContainerVolumeMode;
  /** Of a block volume: the path that the driver named for the pod that got it last, if this run mapped it. */
  readonly devicePath?: string | undefined;
  readonly seLinuxLabel?: string | undefined;
  readonly state: 'mounted' | 'uncertain';
}

/** By `mountKey`. */
export type DesiredState = ReadonlyMap<string, WantedMount>;

export interface ActualState {
  /** By `mountKey`. */
  readonly mounts: ReadonlyMap<string, ActualMount>;
  /** By unique name. */
  readonly devices: ReadonlyMap<string, ActualDevice>;
  readonly sizes?: Pick<VolumeSizes, 'sizeOf' | 'isInUse'>;
}

/** The key of a pod's volume in both states. */
export function mountKey({ podUid, uniqueName }: { podUid: string; uniqueName: string }): string {
  return `${podUid} ${uniqueName}`;
}

interface Labelled {
  readonly seLinuxLabel?: string | undefined;
}

export function hasSameLabel(
  { seLinuxLabel: one = '' }: Labelled,
  { seLinuxLabel: other = '' }: Labelled,
): boolean {
  return one === other;
}

/** Whether the machine has the volume with another SELinux label than the pod wants: all others must give it up first. */
export function isOtherwiseLabelled({ mounts, devices }: ActualState, wanted: WantedMount): boolean {
  // The pod itself has it, and its containers may be using it.
  if (mounts.has(mountKey(wanted))) return false;
  const device = devices.get(wanted.uniqueName);
  return device !== undefined && !hasSameLabel(device, wanted);
}

/** The name of a volume that pods do not share. */
export function uniqueNameInPod(pluginName: string, podUid: string, innerName: string): string {
  return `${pluginName}/${podUid}-${innerName}`;
}

/** `kubernetes.io/csi` as a directory name. */
export function escapePluginName(name: string): string {
  return name.replaceAll('/', '~');
}

export function unescapePluginName(dir: string): string {
  return dir.replaceAll('~', '/');
}
