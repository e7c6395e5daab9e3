/** The interfaces between the parts of the runtime manager, and to the rooms around it. */
import type {
  ContainerConfig,
  CriRuntime,
  Device,
  Init,
  LinuxContainerResources,
  Mount,
  ObservedContainerStatus,
  PodSandboxConfig,
} from '../cri/index.js';
import type { AnyContainer, Pod, VolumeMount } from '../kube/index.js';
import { firstRetry, type Retry, retryOf } from './retry.js';

/** Reasons that users see as a container's waiting reason or in the text of a failed sync. */
export type StartFailureReason =
  | 'CrashLoopBackOff'
  | 'ImagePullBackOff'
  | 'ImageInspectError'
  | 'ErrImagePull'
  | 'ErrImageNeverPull'
  | 'InvalidImageName'
  | 'RegistryUnavailable'
  | 'SignatureValidationFailed'
  | 'ImageVolumeMountFailed'
  | 'CreateContainerConfigError'
  | 'PreCreateHookError'
  | 'CreateContainerError'
  | 'PreStartHookError'
  | 'RunContainerError'
  | 'PostStartHookError';

export type SyncFailureReason =
  | StartFailureReason
  | 'KillContainerError'
  | 'KillPodSandboxError'
  | 'CreatePodSandboxError'
  | 'ConfigPodSandboxError'
  | 'RemoveContainerError'
  | 'ResizePodInPlaceError';

/** A failed step of a sync, with the reason that users see. */
export class SyncFailure extends Error {
  override readonly name = 'SyncFailure';
  readonly reason: SyncFailureReason;
  readonly retry: Retry;

  constructor(
    reason: SyncFailureReason,
    message: string,
    /** `backOffUntilMs` is the wall-clock time until which waiting is all there is to do. */
    options?: ErrorOptions & { readonly backOffUntilMs?: number },
  ) {
    super(message, options);
    this.reason = reason;
    this.retry = firstRetry([
      retryOf(options?.cause),
      ...(options?.backOffUntilMs === undefined
        ? []
        : [{ reason: 'backOff', atMs: options.backOffUntilMs } as const]),
    ]);
  }
}

export type SyncAction =
  | 'StartContainer'
  | 'KillContainer'
  | 'RemoveContainer'
  | 'CreatePodSandbox'
  | 'ConfigPodSandbox'
  | 'KillPodSandbox'
  | 'ResizePodInPlace';

/**
 * The result of one step of a sync. `target` is a container's name; for sandboxes the pod as
 * `name_namespace(uid)` (create), the pod's UID (kill) or the sandbox id (config).
 */
export interface SyncStepResult {
  readonly action: SyncAction;
  readonly target: string;
  readonly failure?: SyncFailure;
}

/** The pull secret that credentials came from. */
export interface PullSecretSource {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly credentialHash: string;
}

/** The service account whose token credentials were given for. */
export interface ServiceAccountSource {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Credentials for a pull; the puller does not choose them. */
export interface PullCredentials {
  readonly username: string;
  readonly password: string;
  /** Absent, as is `serviceAccount`, for the node's credentials, which every pod may use. */
  readonly source?: PullSecretSource;
  /** Set when a plugin gave the credentials for a token of this account. */
  readonly serviceAccount?: ServiceAccountSource;
}

/** The service accounts of pods, and tokens of them, for credential provider plugins. */
export interface PodServiceAccounts {
  /** Fails if there is none. */
  serviceAccount(
    namespace: string,
    name: string,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly uid: string; readonly annotations: Readonly<Record<string, string>> }>;
  /** A token of the pod's account that is bound to the pod. */
  token(request: {
    readonly pod: Pod;
    readonly serviceAccountUid: string;
    readonly audience: string;
    readonly signal: AbortSignal | undefined;
  }): Promise<string>;
}

/** Gives the credentials to try for an image, best first; none means an anonymous pull. */
export interface Keyring {
  lookup(pod: Pod, image: string, signal?: AbortSignal): Promise<readonly PullCredentials[]>;
  /** The names of the pod's pull secrets that cannot be read. */
  unreadSecrets?(pod: Pod): Promise<readonly string[]>;
}

export interface EnsuredImage {
  /** What CreateContainer gets: the local id, or the reference that the pull returned. */
  readonly ref: string;
  /** The user that the image names, if looking up the image has shown it. */
  readonly user?: ImageUser;
}

/** The user that an image names: by number, by name, or not at all, which means root. */
export interface ImageUser {
  readonly uid?: number;
  readonly username?: string;
}

/** Ensures that an image is present; fails with a SyncFailure. */
export interface ImageEnsurer {
  ensure(request: {
    readonly pod: Pod;
    readonly container: AnyContainer;
    readonly sandboxConfig: Init<PodSandboxConfig>;
    readonly fieldPath: string | undefined;
    /** The pod's: a runtime may keep the images of its handlers apart. */
    readonly runtimeHandler: string;
    readonly signal?: AbortSignal;
  }): Promise<EnsuredImage>;
}

/** Builds the CRI configs of a pod and its containers, and prepares the files that they name. */
export interface PodConfigs {
  /** Fails with an Error whose message goes into `Failed to create pod sandbox: …`. */
  sandbox(pod: Pod, attempt: number): Promise<Init<PodSandboxConfig>>;
  /**
   * Fails with an Error whose message becomes that of CreateContainerConfigError. `cleanup` is always called.
   */
  container(request: ContainerConfigRequest): Promise<{
    readonly config: Init<ContainerConfig>;
    readonly cleanup: () => Promise<void>;
  }>;
  /** The new resources for a running container. */
  containerResources(pod: Pod, container: AnyContainer): Init<LinuxContainerResources>;
  /** The sum over a pod's containers, or what is left of the bounds of its cgroup; and its sandbox overhead. */
  podResources(
    pod: Pod,
    bounds?: PodBounds,
  ): {
    readonly resources: Init<LinuxContainerResources>;
    readonly overhead: Init<LinuxContainerResources>;
  };
}

export interface ContainerConfigRequest {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly restartCount: number;
  readonly podIps: readonly string[];
  readonly image: EnsuredImage;
  /** For ephemeral containers: the container whose process namespace it joins. */
  readonly targetContainerId?: string;
  /** The resolved images of the pod's image volumes, by volume name; failed ones are absent. */
  readonly imageVolumes?: ReadonlyMap<string, EnsuredImage>;
  /** The handler of the pod's runtime class; empty for the runtime's default. */
  readonly runtimeHandler?: string;
  /** What the node's resource managers add. */
  readonly additions?: ContainerAdditions;
}

/** What only a container's config knows about its mounts. */
export interface ContainerMountContext {
  /** A mount's subPath with its variables expanded; empty for none. Throws with the user-visible message. */
  readonly subPath: (mount: VolumeMount) => string;
  /** The resolved image of an image volume, by volume name. */
  readonly imageOf: (volumeName: string) => string | undefined;
  /** Empty for the runtime's default. */
  readonly runtimeHandler: string;
}

/** Turns a container's volumes into mounts and devices; implemented by the volumes room. */
export interface ContainerVolumes {
  mounts(
    pod: Pod,
    container: AnyContainer,
    surroundings: ContainerMountContext,
  ): Promise<readonly Init<Mount>[]>;
  /** Its volumeDevices, in their order. */
  devices(pod: Pod, container: AnyContainer): Promise<readonly Init<Device>[]>;
}

export type Reinspect = (uid: string, when: 'now' | 'next') => void;

/** Gives a mounted volume in memory another size; rejects if the volume is not mounted, or holds more than that. */
export type VolumeResizing = (
  pod: Pod,
  volumeName: string,
  sizeBytes: bigint,
  signal?: AbortSignal,
) => Promise<void>;

/** Runs lifecycle hooks for the runtime manager; another room may implement it. */
export interface LifecycleHooks {
  /** Runs postStart; rejects with the handler's message when it failed. */
  postStart(pod: Pod, container: AnyContainer, containerId: string, signal?: AbortSignal): Promise<void>;
  /** Runs preStop to its end or failure; the caller bounds the wait. */
  preStop(pod: Pod, container: AnyContainer, containerId: string, signal?: AbortSignal): Promise<void>;
}

/** The node's resource managers around a container: pin it before it runs, release it afterwards. */
export interface InternalLifecycle {
  /**
   * What the node's resource managers add to the container's config, asked before the config is made. A rejection
   * leaves the container waiting with `CreateContainerConfigError`.
   */
  additions?(pod: Pod, container: AnyContainer, signal?: AbortSignal): Promise<ContainerAdditions>;
  /** Adds the container's assigned resources to its config. */
  preCreate(pod: Pod, container: AnyContainer, config: Init<ContainerConfig>): Promise<Init<ContainerConfig>>;
  preStart(pod: Pod, container: AnyContainer, containerId: string): Promise<void>;
  /** May be called more than once for the same container. */
  postStop(containerId: string): Promise<void>;
}

/** Has the resources of a pod prepared that must be there before its sandbox is. */
export interface PrepareResources {
  isNeeded(pod: Pod): boolean;
  /** Rejects with the reason why the pod has to wait; it is asked again with the pod's next sync. */
  prepare(pod: Pod, signal?: AbortSignal): Promise<void>;
}

/** Where a container may run; empty for everywhere. */
export interface ContainerPlaces {
  readonly cpus?: string;
  readonly mems?: string;
}

/** What devices bring into a container. All of it comes from plugins: who makes it checks and bounds it. */
export interface ContainerAdditions {
  /** Come before the container's own variables, which win. */
  readonly envs?: readonly { readonly name: string; readonly value: string }[];
  readonly mounts?: readonly AddedMount[];
  readonly devices?: readonly AddedDevice[];
  /** The agent's own annotations win. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Fully qualified names, for example `vendor.com/class=name`; the runtime resolves them. */
  readonly cdiDevices?: readonly string[];
}

export interface AddedMount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readOnly: boolean;
}

export interface AddedDevice {
  readonly containerPath: string;
  readonly hostPath: string;
  /** Some of `r`, `w` and `m`. */
  readonly permissions: string;
}

/** One of the node's resource managers, as it sees the life of a container. */
export interface ContainerPlacement {
  /** See `InternalLifecycle.additions`. */
  additions?(pod: Pod, container: AnyContainer, signal?: AbortSignal): Promise<ContainerAdditions>;
  /**
   * Asked before the container is created; resolves when a crash cannot give its places to another one. Absent: the
   * container may run everywhere.
   */
  places?(pod: Pod, container: AnyContainer): Promise<ContainerPlaces>;
  /** The container exists with these places, and does not run yet. */
  created?(pod: Pod, container: AnyContainer, containerId: string, places: ContainerPlaces): void;
  /** May be called more than once for the same container. */
  stopped?(containerId: string): void;
}

export type ProbeVerdict = 'success' | 'failure' | 'unknown';

/** The last probe results of a container; undefined when there are none yet. */
export interface ProbeVerdicts {
  liveness(containerId: string): ProbeVerdict | undefined;
  startup(containerId: string): ProbeVerdict | undefined;
}

/** Asks the pod workers what may still run. */
export interface PodStates {
  isTerminationRequested(uid: string): boolean;
  shouldContentBeRemoved(uid: string): boolean;
  shouldRuntimeBeRemoved(uid: string): boolean;
}

/** A container to kill whose pod object is unknown. */
export interface OrphanKill {
  readonly id: string;
  readonly name: string;
  /** The `Killing` event's message; no event if the pod's object does not name the container. */
  readonly message: string;
  /** Why it is killed, for the timeline. */
  readonly because: string;
}

export interface RemovalOptions {
  readonly keepLogs: boolean;
  /** Why it is removed, for the timeline. */
  readonly because: string;
}

/** Removes one dead container and records that; one unknown to the runtime counts as removed. */
export interface ContainerRemover {
  remove(container: Pick<ObservedContainerStatus, 'id' | 'name'>, options: RemovalOptions): Promise<void>;
}

export type { CriRuntime };

/** What a pod's cgroup lets its containers have together; -1 means no limit. */
export interface PodBounds {
  readonly cpuShares: number;
  readonly quotaMicros: number;
  readonly periodMicros: number;
  readonly memoryLimitBytes: number;
}

/** A bound that a resize moves. */
export type PodBound = 'memoryLimitBytes' | 'quotaMicros' | 'cpuShares';

/** The bounds of pods' cgroups, as far as they change while the pods run. */
export interface PodCgroupResizing {
  /** Throws when the cgroup cannot be read. */
  read(pod: Pod): PodBounds & { readonly memoryUsageBytes: number };
  /** A bound that the pod's spec does not give is absent: it stays as it is. */
  wanted(pod: Pod): Partial<PodBounds>;
  /** Moves one bound to where it is wanted. */
  write(pod: Pod, bound: PodBound): Promise<void>;
  /** Called once after bounds have moved, so that what the pod's class shares follows; never rejects. */
  moved?(): Promise<void>;
}
