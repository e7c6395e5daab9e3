/** The interfaces at which the parts of the runtime room meet each other and the rooms around it. */
import type {
  ContainerConfig,
  CriRuntime,
  Init,
  LinuxContainerResources,
  Mount,
  ObservedContainerStatus,
  PodSandboxConfig,
} from '../cri/index.js';
import type { Container, ContainerKind, EphemeralContainer, Pod, VolumeMount } from '../kube/index.js';
import { firstRetry, type Retry, retryOf } from './retry.js';

/** A container of any kind in a pod's spec. */
export type AnyContainer = Container | EphemeralContainer;

/** Reasons that users see as the waiting reason of a container or in the text of a failed sync. */
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

/** A step of a sync that failed, with the reason a user will see. */
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
 * What became of one step of a sync. `target` is a container's name; for sandboxes the pod as
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

/** What the credentials of a pull are found with; who pulls decides nothing about them. */
export interface PullCredentials {
  readonly username: string;
  readonly password: string;
  /** Absent for credentials of the node, which every pod may use. */
  readonly source?: PullSecretSource;
}

/** Gives the credentials to try for an image, best first; none means an anonymous pull. */
export interface Keyring {
  lookup(pod: Pod, image: string, signal?: AbortSignal): Promise<readonly PullCredentials[]>;
}

export interface EnsuredImage {
  /** What CreateContainer is given: the local id, or the reference that the pull returned. */
  readonly ref: string;
  /** The user that the image names, where the look for the image has shown it. */
  readonly user?: ImageUser;
}

/** The user that an image names: by number, by name, or not at all, which is root. */
export interface ImageUser {
  readonly uid?: number;
  readonly username?: string;
}

/** Makes sure that an image is on the machine; fails with a SyncFailure. */
export interface ImageEnsurer {
  ensure(request: {
    readonly pod: Pod;
    readonly container: AnyContainer;
    readonly sandboxConfig: Init<PodSandboxConfig>;
    readonly fieldPath: string | undefined;
    readonly signal?: AbortSignal;
  }): Promise<EnsuredImage>;
}

/** Builds the CRI's view of a pod and its containers, and prepares the files that it names. */
export interface PodConfigs {
  /** Fails with an Error whose message goes into `Failed to create pod sandbox: …`. */
  sandbox(pod: Pod, attempt: number): Promise<Init<PodSandboxConfig>>;
  /** Fails with an Error whose message becomes that of CreateContainerConfigError. `cleanup` is always called. */
  container(request: ContainerConfigRequest): Promise<{
    readonly config: Init<ContainerConfig>;
    readonly cleanup: () => Promise<void>;
  }>;
  /** What a running container is given in place of what it has. */
  containerResources(pod: Pod, container: AnyContainer): Init<LinuxContainerResources>;
  /** What the containers of a pod have together, and what its sandbox takes for itself. */
  podResources(pod: Pod): {
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
  /** For ephemeral containers: the container whose process namespace is joined. */
  readonly targetContainerId?: string;
  /** What the images of the pod's image volumes resolved to, by volume name; those that failed are absent. */
  readonly imageVolumes?: ReadonlyMap<string, EnsuredImage>;
  /** The runtime handler of the pod's runtime class; empty for the runtime's default. */
  readonly runtimeHandler?: string;
}

/** What of a container's mounts only its config knows. */
export interface MountSurroundings {
  /** The subPath of a mount with its variables expanded; empty for none. Throws with what users see. */
  readonly subPath: (mount: VolumeMount) => string;
  /** What the image of an image volume resolved to, by the volume's name. */
  readonly imageOf: (volumeName: string) => string | undefined;
  /** Empty for the runtime's default. */
  readonly runtimeHandler: string;
}

/** The mounts that a container's volumes become; the volumes room answers it. */
export interface ContainerVolumes {
  mounts(pod: Pod, container: AnyContainer, surroundings: MountSurroundings): Promise<readonly Init<Mount>[]>;
}

/** What hooks around containers need; the runtime manager calls it, another room may answer. */
export interface LifecycleHooks {
  /** Runs postStart; rejects with the handler's message when it failed. */
  postStart(pod: Pod, container: AnyContainer, containerId: string, signal?: AbortSignal): Promise<void>;
  /** Runs preStop to its end or failure; the caller bounds the wait. */
  preStop(pod: Pod, container: AnyContainer, containerId: string, signal?: AbortSignal): Promise<void>;
}

/** What the node's own resource managers do around a container: pin it before it runs, free it afterwards. */
export interface InternalLifecycle {
  /** Gives the config with what was assigned to the container added to it. */
  preCreate(pod: Pod, container: AnyContainer, config: Init<ContainerConfig>): Promise<Init<ContainerConfig>>;
  preStart(pod: Pod, container: AnyContainer, containerId: string): Promise<void>;
  /** May be called more than once for the same container. */
  postStop(containerId: string): Promise<void>;
}

export interface SandboxRun {
  /** Empty for the runtime's default. */
  readonly runtimeHandler: string;
  readonly durationMs: number;
  readonly failed: boolean;
}

/** Told of what the runtime manager tries and what fails, so that someone can count it. */
export interface RuntimeObserver {
  /** A sandbox is about to be created. */
  sandboxStarted(pod: Pod): void;
  sandboxFailed(pod: Pod): void;
  /** The runtime was asked for a sandbox and has answered. */
  sandboxRun(run: SandboxRun): void;
  /** A container is about to be started; those still in back-off are not. */
  containerStarted(kind: ContainerKind): void;
  startFailed(kind: ContainerKind, reason: SyncFailureReason): void;
  /** Images were asked for as volumes of a pod. */
  imageVolumesRequested?(count: number): void;
  /** A container with volumes from images was created, or refused because of one. */
  imageVolumesMounted?(mounts: { readonly count: number; readonly failed: boolean }): void;
  /** The resources of a running pod were changed, or could not be. */
  resized?(resize: { readonly durationMs: number; readonly failed: boolean }): void;
}

export type ProbeVerdict = 'success' | 'failure' | 'unknown';

/** What probes last said of a container; undefined when they said nothing yet. */
export interface ProbeVerdicts {
  liveness(containerId: string): ProbeVerdict | undefined;
  startup(containerId: string): ProbeVerdict | undefined;
}

/** Questions to the pod workers about what may still run. */
export interface PodStates {
  isTerminationRequested(uid: string): boolean;
  shouldContentBeRemoved(uid: string): boolean;
  shouldRuntimeBeRemoved(uid: string): boolean;
}

/** A container of a pod whose object nobody has, to be killed. */
export interface OrphanKill {
  readonly id: string;
  readonly name: string;
  /** The text of the `Killing` event; there is none where the pod's object does not name the container. */
  readonly message: string;
  /** Why it ends, for the timeline. */
  readonly because: string;
}

export interface RemovalOptions {
  readonly keepLogs: boolean;
  /** Why it goes, for the timeline. */
  readonly because: string;
}

/** Removes one dead container and records that; one that the runtime no longer knows counts as removed. */
export interface ContainerRemover {
  remove(container: Pick<ObservedContainerStatus, 'id' | 'name'>, options: RemovalOptions): Promise<void>;
}

export type { CriRuntime };

/** The bounds of a pod as a whole, as far as they change while it runs. */
export interface PodCgroupResizing {
  /** Why the pod's memory cannot be bounded as it should be; undefined when it can. */
  memoryProblem(pod: Pod): string | undefined;
  /** Brings the bounds of one resource towards what they should be, those that grow or those that shrink. */
  resize(pod: Pod, resource: 'cpu' | 'memory', direction: 'up' | 'down'): void;
}
