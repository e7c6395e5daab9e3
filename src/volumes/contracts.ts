/** The interfaces of the volumes room: what a volume is and what a plugin does with it. */
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimStatus,
  Pod,
  Volume,
  VolumeHealthCondition,
} from '../kube/index.js';

/** A volume as plugins see it: from the pod's spec, with its claim resolved. */
export type VolumeSpec =
  | { readonly kind: 'inline'; readonly volume: Volume }
  | {
      readonly kind: 'persistent';
      /** The volume in the pod's spec that names the claim. */
      readonly volume: Volume;
      readonly persistentVolume: PersistentVolume;
      /** From the pod's reference to the claim. */
      readonly readOnly: boolean;
      /** Whether it was one of an in-tree plugin, which a CSI driver serves now. */
      readonly isMigrated?: true;
    };

/** Whether containers get a volume as a directory or as a device. */
export type ContainerVolumeMode = 'Filesystem' | 'Block';

export function volumeModeOf(spec: VolumeSpec): ContainerVolumeMode {
  const mode = spec.kind === 'persistent' ? spec.persistentVolume.spec.volumeMode : undefined;
  return mode === 'Block' ? 'Block' : 'Filesystem';
}

/** What a mounted volume's directory reveals after a restart, before anything else is known. */
export interface VolumeRemains {
  readonly podUid: string;
  /** The name of the directory: the pod volume's name, or the PersistentVolume's. */
  readonly innerName: string;
}

export interface SetUpRequest {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** A refresh of a mounted volume; if it fails, the volume stays mounted. */
  readonly isRemount: boolean;
  /** The SELinux label that all of its files get by the mount; empty or absent: none. */
  readonly seLinuxLabel?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * What a failed mount may have left: `final`: nothing is running; `uncertain`: something may be; `transient`:
 * nothing was begun.
 */
export type VolumeFailureClass = 'final' | 'uncertain' | 'transient';

export class VolumeFailure extends Error {
  override readonly name = 'VolumeFailure';
  readonly failureClass: VolumeFailureClass;

  constructor(failureClass: VolumeFailureClass, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failureClass = failureClass;
  }
}

/** The disk could not be mounted, and has another file system than it was to be mounted with. */
export class FileSystemMismatch extends VolumeFailure {
  constructor(failure: Error) {
    const kind = failure instanceof VolumeFailure ? failure.failureClass : 'final';
    super(kind, failure.message, { cause: failure });
  }
}

export interface VolumeTraits {
  /** Whether fsGroup and relabelling apply. */
  readonly managed: boolean;
  /** Whether containers get it read-only whatever their mount says. */
  readonly readOnly: boolean;
  /** Whether to relabel for SELinux where the machine has it. */
  readonly relabel: boolean;
}

/** What is known of a device that may be mounted. */
export interface DeviceRemains {
  /** The volume's name across pods: `kubernetes.io/local-volume/pv-1`. */
  readonly uniqueName: string;
  readonly innerName: string;
  /** The SELinux label that it was mounted with, if any. */
  readonly seLinuxLabel?: string | undefined;
}

/** A directory of a device that an earlier run left, and of which nothing is known. */
export interface UnknownDevice {
  readonly path: string;
  readonly problem: string;
}

/** What an earlier run left of devices. */
export interface DevicesLeft {
  readonly devices: readonly DeviceRemains[];
  readonly unknown: readonly UnknownDevice[];
}

/** How full a volume is. */
export interface VolumeFigures {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  readonly inodesUsed: number;
}

/** The device part of plugins that mount a device once for all pods (local volumes, CSI). */
export interface DeviceMounts {
  /** The volume's name across pods; undefined for a volume that has no device. */
  uniqueName(spec: VolumeSpec): string | undefined;
  /**
   * Brings the device to this machine, where the plugin itself does so (iSCSI, Fibre Channel); comes before `mountDevice`
   * and before a block volume's `setUpDevice`. Idempotent.
   */
  attach?(spec: VolumeSpec, pod: Pod, signal: AbortSignal): Promise<void>;
  mountDevice(
    spec: VolumeSpec,
    signal: AbortSignal,
    options?: { readonly fsGroup?: number | undefined; readonly seLinuxLabel?: string | undefined },
  ): Promise<void>;
  unmountDevice(device: DeviceRemains): Promise<void>;
  /** Devices that an earlier run left, also those that no pod has a directory for. Removes what has nothing in it. */
  remains?(): Promise<DevicesLeft>;
}

/**
 * The part of plugins whose volumes of mode Block are devices in containers. The manager binds the device that
 * `mapPodDevice` names, links it for the pod and pins it by a loop device; the plugin does the rest.
 */
export interface BlockVolumes {
  /** Notes on disk what is needed to take the volume down again; comes before anything else. */
  prepare(spec: VolumeSpec): Promise<void>;
  /** Prepares the device once for all pods. */
  setUpDevice(spec: VolumeSpec, signal: AbortSignal): Promise<void>;
  /** Makes the device available for a pod; resolves with its path, which may be a symbolic link. */
  mapPodDevice(request: SetUpRequest): Promise<string>;
  /** Idempotent, and needs only the remains on disk. */
  unmapPodDevice(remains: VolumeRemains): Promise<void>;
  /** The same for the device; no pod has it any more. */
  tearDownDevice(device: DeviceRemains): Promise<void>;
  /** The directory of the binds of the device, one for each pod; it goes with the device. */
  mapDirectory(innerName: string): string;
  /** The name across pods of a volume that an earlier run left, where the name of its link does not tell. */
  identify?(remains: VolumeRemains): Promise<VolumeIdentity>;
  /** Devices that an earlier run left, also those that no pod has a link for. */
  remains?(): Promise<DevicesLeft>;
}

/** The part of plugins whose volumes the cluster attaches to the node before they can be mounted. */
export interface VolumeAttaching {
  /** Resolves once it is known which volumes need that. */
  ready(spec: VolumeSpec, signal: AbortSignal): Promise<void>;
  isNeeded(spec: VolumeSpec): boolean;
  /** Asks the cluster; rejects unless the volume is attached. */
  verify(spec: VolumeSpec, signal: AbortSignal): Promise<void>;
  /** Whether the cluster failed to attach the volume because the node can have no more. */
  isLimitReached?(spec: VolumeSpec, signal: AbortSignal): Promise<boolean>;
}

/** The node itself would have to attach the volume, and its kind of volume cannot be attached by a node. */
export class NodeCannotAttach extends VolumeFailure {
  constructor() {
    super('transient', 'attaching volumes from the kubelet is not supported');
  }
}

/** A pod that cannot run here: the node has as many attached volumes as it can have. */
export class AttachLimitReached extends Error {
  override readonly name = 'AttachLimitReached';
}

export interface ExpandRequest {
  readonly spec: VolumeSpec;
  /** A pod that has the volume mounted. */
  readonly podUid: string;
  readonly sizeBytes: bigint;
  readonly signal: AbortSignal;
}

export interface ResizeRequest extends Omit<ExpandRequest, 'signal'> {
  readonly signal?: AbortSignal | undefined;
}

/**
 * How an expansion ended. A failure is `infeasible`: this size will never do; `in-use`: not while the volume is used;
 * `refused`: the driver failed, and is done with it; `unregistered`: there is no driver to ask; `hindered`: something
 * before the driver failed.
 */
export type ExpandOutcome =
  | { readonly kind: 'expanded' }
  | { readonly kind: 'unsupported'; readonly message: string }
  | {
      readonly kind: 'failed';
      readonly cause: 'infeasible' | 'in-use' | 'refused' | 'unregistered' | 'hindered';
      readonly message: string;
    };

/**
 * One kind of volume. Set-up is idempotent: it runs again to refresh, after a failure and after a restart,
 * and leaves a volume alone that is already set up. Tear-down is idempotent, too, and needs only the remains
 * on disk.
 */
export interface VolumePlugin {
  /** `kubernetes.io/empty-dir` */
  readonly name: string;
  accepts(spec: VolumeSpec): boolean;
  /** The pod volume's name for inline volumes, otherwise the PersistentVolume's. */
  innerName(spec: VolumeSpec): string;
  /** Whether every sync of the pod repeats the set-up: of all volumes, or of some. */
  readonly refreshes: boolean | ((spec: VolumeSpec) => boolean);
  /** What is wrong with a volume's fields, so that it is never wanted; undefined if nothing is. */
  problem?(spec: VolumeSpec): string | undefined;
  /** The driver that serves a volume; absent for plugins that mount volumes themselves. */
  driverOf?(spec: VolumeSpec): string;
  /** Whether it has a directory below the pod's `volumes`; without one it is never reconstructed. */
  readonly ownsDirectory: boolean;
  readonly supportsMountOptions: boolean;
  /** Whether a volume can be mounted with an SELinux label; absent where none can. */
  supportsSELinuxMount?(spec: VolumeSpec): boolean;
  traits(spec: VolumeSpec): VolumeTraits;
  /** The volume's path on the machine; undefined if the runtime provides the content (image volumes). */
  hostPath(spec: VolumeSpec, podUid: string): string | undefined;
  setUp(request: SetUpRequest): Promise<void>;
  tearDown(remains: VolumeRemains): Promise<void>;
  readonly devices?: DeviceMounts;
  /** Without it, volumes of mode Block are refused. */
  readonly block?: BlockVolumes;
  readonly attaching?: VolumeAttaching;
  /** How full a mounted volume is, where only its driver knows; undefined if the driver does not tell. */
  measure?(spec: VolumeSpec, podUid: string, signal: AbortSignal): Promise<VolumeFigures | undefined>;
  /** What is wrong with a volume that is or may be mounted; undefined if its driver does not tell. */
  health?(
    spec: VolumeSpec,
    podUid: string,
    signal: AbortSignal,
  ): Promise<readonly VolumeHealthCondition[] | undefined>;
  /** Makes a mounted volume use the size that its storage has grown to; idempotent. Absent where the node has nothing to do. */
  expand?(request: ExpandRequest): Promise<ExpandOutcome>;
  /** Gives a mounted volume the size that its pod's spec bounds it to. Absent where a pod cannot change the size. */
  resize?(request: ResizeRequest): Promise<void>;
  /** The name across pods of a volume that an earlier run left, where its directory's name does not tell; undefined for one without a device. */
  identify?(remains: VolumeRemains): Promise<VolumeIdentity>;
}

/** A volume of a pod whose driver can be asked. */
export interface ObservedVolume {
  readonly pod: Pod;
  /** The volume's names in the pod. */
  readonly names: readonly string[];
  /** Undefined if the driver does not tell. */
  readonly ask: (signal: AbortSignal) => Promise<readonly VolumeHealthCondition[] | undefined>;
}

export interface VolumeIdentity {
  readonly uniqueName: string | undefined;
  readonly driver?: string | undefined;
  /** The SELinux label that it was mounted with, if any. */
  readonly seLinuxLabel?: string | undefined;
}

/** The objects behind claims: read live from the API, or from manifests on a standalone node. */
export interface ClaimStore {
  resolve(pod: Pod, volume: Volume, signal: AbortSignal): Promise<ResolvedClaim>;
  /** Absent where claims have no status that the node writes; then no volume is expanded. */
  readonly statuses?: ClaimStatuses;
}

/** The status of claims, where nodes and controllers tell each other how far an expansion is. */
export interface ClaimStatuses {
  read(claim: ClaimKey, signal: AbortSignal): Promise<PersistentVolumeClaim>;
  /** Writes what differs, if anything; returns the claim as it then is. */
  write(
    claim: PersistentVolumeClaim,
    status: PersistentVolumeClaimStatus,
    options: {
      /** Whether to refuse if someone else has changed the claim since it was read. */
      readonly ifUnchanged: boolean;
      readonly signal: AbortSignal;
    },
  ): Promise<PersistentVolumeClaim>;
}

export interface ClaimKey {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface ResolvedClaim {
  readonly persistentVolume: PersistentVolume;
  readonly readOnly: boolean;
  /** From the annotation `pv.beta.kubernetes.io/gid`. */
  readonly extraGroup: number | undefined;
  /** As read; absent where it has no status. */
  readonly claim?: PersistentVolumeClaim | undefined;
}

export interface ServiceAccountTokenRequest {
  readonly pod: Pod;
  readonly audience: string | undefined;
  readonly expirationSeconds: number;
  /** The account that the token must be of: one that was made anew under its name gives none. */
  readonly serviceAccountUid?: string;
  readonly signal: AbortSignal;
}

/** Service account tokens of pods; the implementation caches and refreshes them. */
export interface ServiceAccountTokens {
  token(request: ServiceAccountTokenRequest): Promise<string>;
  /** The same with its end. */
  issued(
    request: ServiceAccountTokenRequest,
  ): Promise<{ readonly token: string; readonly expiresAtMs: number }>;
  /** Drops the pod's cached tokens. */
  forget(podUid: string): void;
}

/** Trust bundles for projected volumes. */
export interface TrustBundles {
  /** PEM text of the matching certificates; rejects if nothing matches and `optional` is not set. */
  bundle(selection: {
    readonly name: string | undefined;
    readonly signerName: string | undefined;
    readonly labelSelector: object | undefined;
    readonly optional: boolean;
    readonly signal: AbortSignal;
  }): Promise<string>;
}
