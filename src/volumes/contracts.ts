/** The interfaces of the volumes room: what a volume is and what a plugin does with it. */
import type { PersistentVolume, Pod, Volume } from '../kube/index.js';

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
    };

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

export interface VolumeTraits {
  /** Whether fsGroup and relabelling apply. */
  readonly managed: boolean;
  /** Whether containers get it read-only whatever their mount says. */
  readonly readOnly: boolean;
  /** Whether to relabel for SELinux where the machine has it. */
  readonly relabel: boolean;
}

/** The device part of plugins that mount a device once for all pods (local volumes; CSI later). */
export interface DeviceMounts {
  /** The volume's name across pods: `kubernetes.io/local-volume/pv-1`. */
  uniqueName(spec: VolumeSpec): string;
  mountDevice(spec: VolumeSpec, signal: AbortSignal): Promise<void>;
  unmountDevice(innerName: string): Promise<void>;
}

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
  /** Whether every sync of the pod repeats the set-up. */
  readonly refreshes: boolean;
  /** Whether it has a directory below the pod's `volumes`; without one it is never reconstructed. */
  readonly ownsDirectory: boolean;
  readonly supportsMountOptions: boolean;
  traits(spec: VolumeSpec): VolumeTraits;
  /** The volume's path on the machine; undefined if the runtime provides the content (image volumes). */
  hostPath(spec: VolumeSpec, podUid: string): string | undefined;
  setUp(request: SetUpRequest): Promise<void>;
  tearDown(remains: VolumeRemains): Promise<void>;
  readonly devices?: DeviceMounts;
}

/** The objects behind claims: read live from the API, or from manifests on a standalone node. */
export interface ClaimStore {
  resolve(pod: Pod, volume: Volume, signal: AbortSignal): Promise<ResolvedClaim>;
}

export interface ResolvedClaim {
  readonly persistentVolume: PersistentVolume;
  readonly readOnly: boolean;
  /** From the annotation `pv.beta.kubernetes.io/gid`. */
  readonly extraGroup: number | undefined;
}

/** Service account tokens for projected volumes; the implementation caches and refreshes them. */
export interface ServiceAccountTokens {
  token(request: {
    readonly pod: Pod;
    readonly audience: string | undefined;
    readonly expirationSeconds: number;
    readonly signal: AbortSignal;
  }): Promise<string>;
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
