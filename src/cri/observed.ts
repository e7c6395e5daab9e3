/** The pods that a runtime reports: its sandboxes and containers, grouped by pod from their labels and annotations. */
import {
  type ContainerResources,
  ContainerState,
  type Container as CriContainer,
  type ContainerStatus as CriContainerStatus,
  type PodSandbox as CriSandbox,
  type PodSandboxStatus as CriSandboxStatus,
  type LinuxContainerUser,
  type Mount,
  NamespaceMode,
  PodSandboxState,
  Signal,
} from './gen/cri.js';

/** The labels of sandboxes and containers. With the annotations, they are all that survives a restart of the agent. */
export const criLabels = {
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  containerName: 'io.kubernetes.container.name',
} as const;

export const criAnnotations = {
  hash: 'io.kubernetes.container.hash',
  restartCount: 'io.kubernetes.container.restartCount',
  terminationMessagePath: 'io.kubernetes.container.terminationMessagePath',
  terminationMessagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  preStopHandler: 'io.kubernetes.container.preStopHandler',
  ports: 'io.kubernetes.container.ports',
  podTerminationGracePeriod: 'io.kubernetes.pod.terminationGracePeriod',
  podDeletionGracePeriod: 'io.kubernetes.pod.deletionGracePeriod',
} as const;

export type ObservedState = 'created' | 'running' | 'exited' | 'unknown';

export interface ObservedContainer {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly state: ObservedState;
  readonly image: string;
  readonly imageId: string;
  readonly hash: string;
  readonly createdAtNs: bigint;
}

export interface ObservedSandbox {
  readonly id: string;
  /** A ready sandbox is running, any other has exited. */
  readonly state: 'running' | 'exited';
  readonly attempt: number;
  readonly createdAtNs: bigint;
}

/** One pod as the runtime lists it: sandboxes and containers, newest first. */
export interface ObservedPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly sandboxes: readonly ObservedSandbox[];
  readonly containers: readonly ObservedContainer[];
  /** Monotonic milliseconds just before the call to the runtime. */
  readonly observedAtMs: number;
}

export interface ObservedMount {
  readonly containerPath: string;
  readonly hostPath: string;
  /** The image of an image volume. */
  readonly image?: string;
  /** What the runtime found that image to be, if it says so. */
  readonly imageRef?: string;
}

export interface ObservedContainerStatus {
  readonly id: string;
  readonly name: string;
  readonly state: ObservedState;
  readonly createdAtNs: bigint;
  /** Zero before the container has started. */
  readonly startedAtNs: bigint;
  /** Zero before the container has exited. */
  readonly finishedAtNs: bigint;
  readonly exitCode: number;
  readonly reason: string;
  /** The runtime's message, followed by the container's termination message once it was read. */
  readonly message: string;
  readonly image: string;
  readonly imageId: string;
  readonly imageRef: string;
  /** The hash of the container's spec at its start, in lower-case hex. */
  readonly hash: string;
  readonly restartCount: number;
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: string;
  readonly logPath: string;
  readonly mounts: readonly ObservedMount[];
  readonly resources: ContainerResources | undefined;
  readonly user: LinuxContainerUser | undefined;
  /** The stop signal, such as `SIGTERM`; undefined for the runtime's default. */
  readonly stopSignal?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface ObservedSandboxStatus {
  readonly id: string;
  readonly ready: boolean;
  readonly attempt: number;
  readonly createdAtNs: bigint;
  readonly hostNetwork: boolean;
  /** Undefined when the runtime reports no network. */
  readonly network: { readonly ip: string; readonly additionalIps: readonly string[] } | undefined;
  readonly runtimeHandler: string;
}

/** One pod with the full statuses that the runtime reports. */
export interface ObservedPodStatus {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly ips: readonly string[];
  /** Newest first. */
  readonly sandboxes: readonly ObservedSandboxStatus[];
  /** All instances of all containers, newest first. The status of a container is that of its first instance here. */
  readonly containers: readonly ObservedContainerStatus[];
  /** The `containers` in the newest sandbox, while it is ready. */
  readonly activeContainers: readonly ObservedContainerStatus[];
  /** Monotonic milliseconds just before the call to the runtime. */
  readonly observedAtMs: number;
}

/** The status of a pod that the runtime does not have. */
export function absentPodStatus(uid: string): ObservedPodStatus {
  return {
    uid,
    name: '',
    namespace: '',
    ips: [],
    sandboxes: [],
    containers: [],
    activeContainers: [],
    observedAtMs: 0,
  };
}

/** The newest instance of a container, if it has one. */
export function newestContainer(
  status: ObservedPodStatus,
  name: string,
): ObservedContainerStatus | undefined {
  return status.containers.find((container) => container.name === name);
}

export function observedState(state: ContainerState): ObservedState {
  switch (state) {
    case ContainerState.CONTAINER_CREATED:
      return 'created';
    case ContainerState.CONTAINER_RUNNING:
      return 'running';
    case ContainerState.CONTAINER_EXITED:
      return 'exited';
    default:
      return 'unknown';
  }
}

export function observeContainer(container: CriContainer): ObservedContainer {
  return {
    id: container.id,
    name: container.labels[criLabels.containerName] ?? container.metadata?.name ?? '',
    sandboxId: container.podSandboxId,
    state: observedState(container.state),
    image: container.image?.image ?? '',
    imageId: container.imageId !== '' ? container.imageId : container.imageRef,
    hash: container.annotations[criAnnotations.hash] ?? '',
    createdAtNs: container.createdAt,
  };
}

export function observeSandbox(sandbox: CriSandbox): ObservedSandbox {
  return {
    id: sandbox.id,
    state: sandbox.state === PodSandboxState.SANDBOX_READY ? 'running' : 'exited',
    attempt: sandbox.metadata?.attempt ?? 0,
    createdAtNs: sandbox.createdAt,
  };
}

function newestListedFirst(a: CriContainer, b: CriContainer): number {
  return newestAttemptFirst(
    { id: a.id, attempt: a.metadata?.attempt ?? 0, createdAtNs: a.createdAt },
    { id: b.id, attempt: b.metadata?.attempt ?? 0, createdAtNs: b.createdAt },
  );
}

/** Groups listed sandboxes and containers by pod. A pod without a sandbox is known by the labels of its containers. */
export function groupByPod(
  sandboxes: readonly CriSandbox[],
  containers: readonly CriContainer[],
  observedAtMs: number,
): ObservedPod[] {
  interface PodGroup {
    uid: string;
    name: string;
    namespace: string;
    sandboxes: CriSandbox[];
    containers: CriContainer[];
  }
  const groups = new Map<string, PodGroup>();
  for (const sandbox of sandboxes) {
    const metadata = sandbox.metadata;
    if (metadata === undefined || metadata.uid === '') continue;
    let group = groups.get(metadata.uid);
    if (group === undefined) {
      group = {
        uid: metadata.uid,
        name: metadata.name,
        namespace: metadata.namespace,
        sandboxes: [],
        containers: [],
      };
      groups.set(metadata.uid, group);
    }
    group.sandboxes.push(sandbox);
  }
  for (const container of containers) {
    const uid = container.labels[criLabels.podUid];
    if (uid === undefined || uid === '') continue;
    let group = groups.get(uid);
    if (group === undefined) {
      const name = container.labels[criLabels.podName] ?? '';
      const namespace = container.labels[criLabels.podNamespace] ?? '';
      group = { uid, name, namespace, sandboxes: [], containers: [] };
      groups.set(uid, group);
    }
    group.containers.push(container);
  }
  // Field by field: Node 20 gives each copy by spread that gets more fields a hidden class of its own, 200 bytes.
  return [...groups.values()].map((group) => ({
    uid: group.uid,
    name: group.name,
    namespace: group.namespace,
    sandboxes: group.sandboxes.map(observeSandbox).sort(newestAttemptFirst),
    containers: group.containers.sort(newestListedFirst).map(observeContainer),
    observedAtMs,
  }));
}

function signalName(signal: Signal): string | undefined {
  if (signal === Signal.SIGNAL_RUNTIME_DEFAULT) return undefined;
  const name = Object.entries(Signal).find(([, number]) => number === signal)?.[0];
  return name?.replace('SIGNAL_', '');
}

export function observeContainerStatus(status: CriContainerStatus): ObservedContainerStatus {
  const state = observedState(status.state);
  const exited = state === 'exited';
  return {
    id: status.id,
    name: status.labels[criLabels.containerName] ?? status.metadata?.name ?? '',
    state,
    createdAtNs: status.createdAt,
    startedAtNs: state === 'created' ? 0n : status.startedAt,
    finishedAtNs: exited ? status.finishedAt : 0n,
    exitCode: exited ? status.exitCode : 0,
    reason: exited ? status.reason : '',
    message: exited ? status.message : '',
    image: status.image?.image ?? '',
    imageId: status.imageId !== '' ? status.imageId : status.imageRef,
    imageRef: status.imageRef,
    hash: status.annotations[criAnnotations.hash] ?? '',
    restartCount: parseCount(status.annotations[criAnnotations.restartCount]),
    terminationMessagePath: status.annotations[criAnnotations.terminationMessagePath] ?? '',
    terminationMessagePolicy: status.annotations[criAnnotations.terminationMessagePolicy] ?? '',
    logPath: status.logPath,
    mounts: status.mounts.map(observeMount),
    resources: status.resources,
    user: status.user?.linux,
    stopSignal: signalName(status.stopSignal),
    labels: status.labels,
    annotations: status.annotations,
  };
}

function observeMount({ containerPath, hostPath, image }: Mount): ObservedMount {
  const { image: reference = '', imageRef = '' } = image ?? {};
  return {
    containerPath,
    hostPath,
    ...(reference === '' ? {} : { image: reference }),
    ...(imageRef === '' ? {} : { imageRef }),
  };
}

export function observeSandboxStatus(status: CriSandboxStatus): ObservedSandboxStatus {
  return {
    id: status.id,
    ready: status.state === PodSandboxState.SANDBOX_READY,
    attempt: status.metadata?.attempt ?? 0,
    createdAtNs: status.createdAt,
    hostNetwork: status.linux?.namespaces?.options?.network === NamespaceMode.NODE,
    network:
      status.network === undefined
        ? undefined
        : { ip: status.network.ip, additionalIps: status.network.additionalIps.map((ip) => ip.ip) },
    runtimeHandler: status.runtimeHandler,
  };
}

/** Orders by creation, newest first, then by id, so that the order is stable. */
export function newestFirst(
  a: { readonly createdAtNs: bigint; readonly id: string },
  b: { readonly createdAtNs: bigint; readonly id: string },
): number {
  if (a.createdAtNs !== b.createdAtNs) return a.createdAtNs > b.createdAtNs ? -1 : 1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

/**
 * Orders by attempt, highest first, then as `newestFirst`. The wall clock may have been set back since the first attempts: by
 * its time alone the last one from before would be the newest for as long as that.
 */
export function newestAttemptFirst(
  a: { readonly attempt: number; readonly createdAtNs: bigint; readonly id: string },
  b: { readonly attempt: number; readonly createdAtNs: bigint; readonly id: string },
): number {
  return a.attempt === b.attempt ? newestFirst(a, b) : b.attempt - a.attempt;
}

function parseCount(text: string | undefined): number {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0;
}
