/** What a network of disks (iSCSI, Fibre Channel) does for the plugins that mount its disks. */
import type { UnknownDevice, VolumeSpec } from '../../contracts.js';

/** A volume as its fields describe it, all of them checked. */
export interface RemoteVolume<Disk> {
  readonly disk: Disk;
  readonly fsType: string;
  readonly readOnly: boolean;
  /** The secret that the disk's target asks for. */
  readonly secretRef?: { readonly name: string; readonly namespace: string | undefined } | undefined;
}

/** The content of a secret. It reaches no log, no error and no file of this program. */
export type DiskSecret = Readonly<Record<string, string>>;

export interface DiskNetwork<Disk> {
  /** `kubernetes.io/iscsi` */
  readonly pluginName: string;
  accepts(spec: VolumeSpec): boolean;
  /** Throws with the field that makes no sense. */
  volumeOf(spec: VolumeSpec): RemoteVolume<Disk>;
  /** The disk's name across pods, without that of the plugin. */
  deviceName(disk: Disk): string;
  /** Where it is mounted once for all pods, below the plugin's directory. */
  globalName(disk: Disk): string;
  /** A file in that directory by which another kubelet can take the disk down. */
  record?(disk: Disk): { readonly name: string; readonly text: string };
  /** Checks what was read from a note. */
  revive(value: unknown): Disk;
  /** Brings the disk here and waits for its device, within a limit. Idempotent. */
  connect(disk: Disk, secret: DiskSecret | undefined, signal: AbortSignal): Promise<void>;
  /** The path of its device, without links; undefined while it has none. */
  find(disk: Disk): Promise<string | undefined>;
  /** Has the machine read the size of the disk again. */
  rescan(disk: Disk): Promise<void>;
  /**
   * Takes the disk away, unless something still uses it. `others` yields the disks that must stay; it is asked at a moment
   * when none of them is about to be connected. Idempotent.
   */
  disconnect(disk: Disk, others: () => Promise<readonly Disk[]>): Promise<void>;
}

/** What an earlier run noted. */
export interface NotedDisks<Note> {
  readonly notes: readonly Note[];
  readonly unknown: readonly UnknownDevice[];
}
