/** The interfaces at which the parts of the volumes room meet: what a volume is, and what a plugin does with one. */
import type { PersistentVolume, Pod, Volume } from '../kube/index.js';

/** A volume as plugins see it: what the pod's spec names, with the claim resolved where it names one. */
export type VolumeSpec =
  | { readonly kind: 'inline'; readonly volume: Volume }
  | {
      readonly kind: 'persistent';
      /** The volume of the pod's spec that names the claim. */
      readonly volume: Volume;
      readonly persistentVolume: PersistentVolume;
      /** From the pod's reference to the claim. */
      readonly readOnly: boolean;
    };

/** What the folder of a mounted volume tells of it after a restart, when nothing else is known yet. */
export interface VolumeRemains {
  readonly podUid: string;
  /** The name of the folder: the pod volume's name, or the PersistentVolume's. */
  readonly innerName: string;
}

export interface SetUpRequest {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** Set up again to refresh what it holds; a failure leaves it mounted. */
  readonly isRemount: boolean;
  readonly signal: AbortSignal;
}

/**
 * How the mount operation failed, for what may still be there: `final` nothing runs any more, `uncertain` it may,
 * `transient` nothing was begun.
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

export interface VolumeTraits {
  /** Whether fsGroup and relabelling apply. */
  readonly managed: boolean;
  /** Whether containers get it read-only whatever their mount says. */
  readonly readOnly: boolean;
  /** Whether relabelling for SELinux is wanted where the machine has it. */
  readonly relabel: boolean;
}

/** What a plugin that mounts a device once for all pods of the machine does besides (local volumes; CSI later). */
export interface DeviceMounts {
  /** Names the volume across pods: `kubernetes.io/local-volume/pv-1`. */
  uniqueName(spec: VolumeSpec): string;
  mountDevice(spec: VolumeSpec, signal: AbortSignal): Promise<void>;
  unmountDevice(innerName: string): Promise<void>;
}

/**
 * One kind of volume. Set-up is idempotent: it is run again to refresh, after a failure and after a restart, and a
 * volume that is set up already is left alone. Tear-down needs nothing but the remains on disk, and is idempotent, too.
 */
export interface VolumePlugin {
  /** `kubernetes.io/empty-dir` */
  readonly name: string;
  accepts(spec: VolumeSpec): boolean;
  /** The pod volume's name for inline volumes, the PersistentVolume's for others. */
  innerName(spec: VolumeSpec): string;
  /** Whether set-up is repeated in every sync of the pod. */
  readonly refreshes: boolean;
  /** Whether it has a folder below the pod's `volumes`; those that have not are never reconstructed. */
  readonly ownsDirectory: boolean;
  readonly supportsMountOptions: boolean;
  traits(spec: VolumeSpec): VolumeTraits;
  /** Where the volume's content is on the machine; undefined when the runtime provides it (image volumes). */
  hostPath(spec: VolumeSpec, podUid: string): string | undefined;
  setUp(request: SetUpRequest): Promise<void>;
  tearDown(remains: VolumeRemains): Promise<void>;
  readonly devices?: DeviceMounts;
}

/** The objects behind claims; read live from the API, in a standalone node from the manifests given. */
export interface ClaimStore {
  resolve(pod: Pod, volume: Volume, signal: AbortSignal): Promise<ResolvedClaim>;
}

export interface ResolvedClaim {
  readonly persistentVolume: PersistentVolume;
  readonly readOnly: boolean;
  /** From the annotation `pv.beta.kubernetes.io/gid`. */
  readonly extraGroup: number | undefined;
}

/** Tokens of service accounts for projected volumes; the API's side gives them, with its cache and refresh. */
export interface ServiceAccountTokens {
  token(request: {
    readonly pod: Pod;
    readonly audience: string | undefined;
    readonly expirationSeconds: number;
    readonly signal: AbortSignal;
  }): Promise<string>;
  /** Forgets what is kept for the pod. */
  forget(podUid: string): void;
}

/** Bundles of trusted certificates for projected volumes. */
export interface TrustBundles {
  /** PEM text of what matches; rejects when nothing does and `optional` is not set. */
  bundle(selection: {
    readonly name: string | undefined;
    readonly signerName: string | undefined;
    readonly labelSelector: object | undefined;
    readonly optional: boolean;
    readonly signal: AbortSignal;
  }): Promise<string>;
}
