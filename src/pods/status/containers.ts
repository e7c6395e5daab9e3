/** The API statuses of a pod's containers: from the runtime, completed from the old status and the spec. */
import type { ObservedContainerStatus, ObservedPodStatus } from '../../cri/index.js';
import {
  apiContainerId,
  type Container,
  type ContainerKind,
  type ContainerState,
  type ContainerStatus,
  isSidecar,
  type Pod,
  type ResourceRequirements,
  shouldBeRestarted,
} from '../../kube/index.js';
import {
  apiRestartCount,
  apiState,
  containerUser,
  statusUnknownReason,
  unseenEnd,
  volumeMountStatuses,
  withImageRefs,
} from './container-fields.js';
import { containerResources } from './container-resources.js';
import type { ContainerStartFailure } from './reason-cache.js';
import { restartingAllReason } from './restartable.js';

const removedForRestartMessage = 'The container is removed because RestartAllContainers in place';
const vanishedMessage =
  'The container could not be located when the pod was deleted.  The container used to be Running';
const presumedCompletedMessage =
  'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';

export interface ContainerStatusContext {
  readonly pod: Pod;
  readonly observed: ObservedPodStatus;
  /** The scheme of container ids, such as `containerd`. */
  readonly runtimeName: string;
  readonly isRestartingAll: boolean;
  /** Why the container could not be started last time. */
  readonly startFailure: (container: string) => ContainerStartFailure | undefined;
  /** Undefined while the runtime handler of the pod is not known. */
  readonly supportsRecursiveReadOnly: boolean | undefined;
  /** Whether statuses include the container's stop signal (gate ContainerStopSignals). */
  readonly showsStopSignals?: boolean | undefined;
  /** Whether statuses tell the images of image volumes (gate ImageVolumeWithDigest). */
  readonly showsVolumeImages?: boolean | undefined;
  /** The resources last applied to the container, for what the runtime does not report. */
  readonly actuatedResources?: ((container: string) => ResourceRequirements | undefined) | undefined;
}

/** Regular and ephemeral containers are sorted by name, init containers are in spec order. */
export function containerStatuses(
  kind: ContainerKind,
  containers: readonly Container[],
  oldStatuses: readonly ContainerStatus[] | undefined,
  context: ContainerStatusContext,
): ContainerStatus[] {
  const statuses = containers.map((container) => {
    const old = oldStatuses?.find(({ name }) => name === container.name);
    const instances = context.observed.containers.filter(({ name }) => name === container.name);
    const [newest, previous] = instances;
    const status =
      newest === undefined
        ? withoutInstance(defaultStatus(container, old, context), old, context)
        : fromInstances(container, newest, previous, old, context);
    return withWaitingReason(kind, container, newest, status, context);
  });
  return kind === 'initContainer' ? statuses : sortedByName(statuses);
}

export function sortedByName<T extends { readonly name: string }>(statuses: readonly T[]): T[] {
  return [...statuses].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function defaultStatus(
  container: Container,
  old: ContainerStatus | undefined,
  context: ContainerStatusContext,
): ContainerStatus {
  if (old?.state?.terminated !== undefined) return old;
  const hasInitContainers = (context.pod.spec.initContainers ?? []).length > 0;
  const volumeMounts = volumeMountStatuses(container, context.supportsRecursiveReadOnly ?? false);
  return {
    name: container.name,
    state: { waiting: { reason: hasInitContainers ? 'PodInitializing' : 'ContainerCreating' } },
    lastState: old?.lastState ?? {},
    ready: false,
    restartCount: old?.restartCount ?? 0,
    image: container.image ?? '',
    imageID: '',
    ...(volumeMounts.length === 0 ? {} : { volumeMounts }),
  };
}

/** A container that the runtime does not report, but that has an old status. */
function withoutInstance(
  status: ContainerStatus,
  old: ContainerStatus | undefined,
  context: ContainerStatusContext,
): ContainerStatus {
  if (old === undefined) return status;
  if (context.isRestartingAll && old.state?.waiting === undefined) {
    return {
      ...status,
      state: { waiting: { reason: restartingAllReason, message: removedForRestartMessage } },
      lastState: unseenEnd(restartingAllReason, removedForRestartMessage),
      restartCount: old.restartCount + 1,
    };
  }
  // It ran and is gone: without a last state it would count as never started, and the pod as Pending.
  if (old.state?.running === undefined || status.lastState?.terminated !== undefined) return status;
  const isBeingDeleted = context.pod.metadata.deletionTimestamp !== undefined;
  return {
    ...status,
    lastState: unseenEnd(statusUnknownReason, vanishedMessage),
    restartCount: status.restartCount + (isBeingDeleted ? 0 : 1),
  };
}

function fromInstances(
  container: Container,
  newest: ObservedContainerStatus,
  previous: ObservedContainerStatus | undefined,
  old: ContainerStatus | undefined,
  context: ContainerStatusContext,
): ContainerStatus {
  const { runtimeName, actuatedResources, showsStopSignals, showsVolumeImages, supportsRecursiveReadOnly } =
    context;
  const containerID = apiContainerId(runtimeName, newest.id);
  // An earlier instance's status must not let this one skip its startup probe.
  const isSameInstance = old?.containerID === undefined || old.containerID === containerID;
  const isStartedKnown = newest.state === 'running' && old?.started !== undefined && isSameInstance;
  const user = containerUser(newest);
  // They were first reported before the pod's runtime handler was known.
  const mountsByNow =
    supportsRecursiveReadOnly === undefined ? [] : volumeMountStatuses(container, supportsRecursiveReadOnly);
  const toldMounts = old?.volumeMounts?.map(
    (told) => mountsByNow.find(({ mountPath }) => mountPath === told.mountPath) ?? told,
  );
  const volumeMounts =
    showsVolumeImages && toldMounts !== undefined ? withImageRefs(toldMounts, newest.mounts) : toldMounts;
  const allocated = container.resources ?? {};
  const resources = containerResources({
    allocated,
    instance: newest,
    actuated: actuatedResources?.(container.name),
    previous: isSameRun(old, containerID) ? old?.resources : undefined,
  });
  return {
    name: newest.name,
    state: apiState(newest, old, context),
    lastState: previous === undefined ? carriedLastState(old, containerID) : apiState(previous, old, context),
    ready: false,
    restartCount: apiRestartCount(newest, old),
    image: newest.image,
    imageID: newest.imageRef,
    containerID,
    ...(isStartedKnown ? { started: old.started } : {}),
    ...(allocated.requests === undefined ? {} : { allocatedResources: allocated.requests }),
    resources,
    ...(volumeMounts === undefined ? {} : { volumeMounts }),
    ...(user === undefined ? {} : { user }),
    ...(showsStopSignals && newest.stopSignal !== undefined ? { stopSignal: newest.stopSignal } : {}),
  };
}

function isSameRun(old: ContainerStatus | undefined, containerID: string): boolean {
  return old?.state?.running !== undefined && old.containerID === containerID;
}

/** The last state when the runtime kept no earlier instance. */
function carriedLastState(old: ContainerStatus | undefined, containerID: string): ContainerState {
  if (old?.state?.terminated !== undefined && old.containerID !== containerID) {
    return { terminated: old.state.terminated };
  }
  if (old?.lastState?.terminated !== undefined) return { terminated: old.lastState.terminated };
  return {};
}

/** A waiting container shows the reason if its last start failed. */
function withWaitingReason(
  kind: ContainerKind,
  container: Container,
  newest: ObservedContainerStatus | undefined,
  status: ContainerStatus,
  context: ContainerStatusContext,
): ContainerStatus {
  if (kind === 'initContainer') {
    if (newest?.state === 'exited' && newest.exitCode === 0) return status;
    if (isPresumedCompleted(container, newest, status, context)) {
      return {
        ...status,
        state: {
          terminated: {
            exitCode: 0,
            reason: 'Completed',
            message: presumedCompletedMessage,
            startedAt: null,
            finishedAt: null,
          },
        },
      };
    }
  }
  if (!shouldBeRestarted(context.pod, container, newest)) return status;
  const failure = context.startFailure(container.name);
  if (failure === undefined) return status;
  return {
    ...status,
    state: {
      waiting: {
        reason: failure.reason,
        ...(failure.message === '' ? {} : { message: failure.message }),
      },
    },
    ...(status.state?.terminated === undefined ? {} : { lastState: status.state }),
  };
}

/** An unknown init container must have succeeded if regular containers exist. */
function isPresumedCompleted(
  container: Container,
  newest: ObservedContainerStatus | undefined,
  status: ContainerStatus,
  { pod, observed }: ContainerStatusContext,
): boolean {
  if (newest !== undefined || isSidecar(container) || status.state?.waiting === undefined) return false;
  return pod.spec.containers.some(({ name }) => {
    const regular = observed.containers.find((instance) => instance.name === name);
    return regular !== undefined && regular.state !== 'unknown';
  });
}
