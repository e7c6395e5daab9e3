/** What volumes should be mounted and what is mounted, as plain data that decisions are made from. */
import type { Pod } from '../../kube/index.js';
import type { PodRef } from '../../timeline/index.js';
import type { VolumeSpec } from '../contracts.js';

/** One volume that one pod should have. */
export interface WantedMount {
  /** Names the volume: across pods where they share a device, else together with the pod. */
  readonly uniqueName: string;
  readonly podUid: string;
  readonly pluginName: string;
  readonly innerName: string;
  /** The volumes of the pod's spec that this is; two may name the same claim. */
  readonly volumeNames: readonly string[];
  /** Whether a device is mounted once for all pods of the machine. */
  readonly hasDevice: boolean;
  /** Whether set-up is repeated whenever the pod is processed again. */
  readonly refreshes: boolean;
  /** As it was when the pod was processed last. */
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** A group that the persistent volume asks for. */
  readonly extraGroup: number | undefined;
}

/** One volume of one pod that is mounted, or may be. */
export interface ActualMount {
  readonly uniqueName: string;
  readonly podUid: string;
  readonly pluginName: string;
  readonly innerName: string;
  /** `uncertain`: something may be there. It counts as unmounted for a start and as mounted for cleaning up. */
  readonly state: 'mounted' | 'uncertain';
  /** Found on disk at the start and not set up since; a failed set-up must not take it away. */
  readonly reconstructed: boolean;
  readonly remountRequired: boolean;
  /** The pod's name; unknown of a reconstructed one. */
  readonly owner: PodRef | undefined;
}

/** A device that is mounted for all pods of the machine, or may be. */
export interface ActualDevice {
  readonly uniqueName: string;
  readonly pluginName: string;
  readonly innerName: string;
  readonly state: 'mounted' | 'uncertain';
}

/** By `mountKey`. */
export type DesiredState = ReadonlyMap<string, WantedMount>;

export interface ActualState {
  /** By `mountKey`. */
  readonly mounts: ReadonlyMap<string, ActualMount>;
  /** By unique name. */
  readonly devices: ReadonlyMap<string, ActualDevice>;
}

/** The key of a pod's volume in both states. */
export function mountKey({ podUid, uniqueName }: { podUid: string; uniqueName: string }): string {
  return `${podUid} ${uniqueName}`;
}

/** The name of a volume that no two pods share. */
export function uniqueNameInPod(pluginName: string, podUid: string, innerName: string): string {
  return `${pluginName}/${podUid}-${innerName}`;
}

/** `kubernetes.io/csi` as the name of a folder. */
export function escapePluginName(name: string): string {
  return name.replaceAll('/', '~');
}

export function unescapePluginName(folder: string): string {
  return folder.replaceAll('~', '/');
}
