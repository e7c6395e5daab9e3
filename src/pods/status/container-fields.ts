/** The fields of a container's API status that follow from the runtime's status and the spec. */
import type { ObservedContainerStatus, ObservedMount } from '../../cri/index.js';
import {
  apiContainerId,
  type Container,
  type ContainerState,
  type ContainerStatus,
  type ContainerUser,
  formatTimestamp,
  type VolumeMount,
  type VolumeMountStatus,
} from '../../kube/index.js';
import { restartingAllReason } from './restartable.js';

export const statusUnknownReason = 'ContainerStatusUnknown';
/** The exit code of a container whose exit nobody saw. */
export const unseenExitCode = 137;
export const lostAtTerminationMessage = 'The container could not be located when the pod was terminated';

/** The state of a container whose exit nobody saw. */
export function unseenEnd(reason: string, message: string): ContainerState {
  return {
    terminated: { exitCode: unseenExitCode, reason, message, startedAt: null, finishedAt: null },
  };
}

export interface StateContext {
  readonly runtimeName: string;
  readonly isRestartingAll: boolean;
}

/** The API state of one container instance; `old` is the container's previous status. */
export function apiState(
  instance: ObservedContainerStatus,
  old: ContainerStatus | undefined,
  context: StateContext,
): ContainerState {
  switch (instance.state) {
    case 'running':
      return { running: { startedAt: timestampOfNs(instance.startedAtNs) } };
    case 'created':
      return { waiting: {} };
    case 'exited':
      return {
        terminated: {
          exitCode: instance.exitCode,
          ...(instance.reason === '' ? {} : { reason: instance.reason }),
          ...(instance.message === '' ? {} : { message: instance.message }),
          startedAt: timestampOfNs(instance.startedAtNs),
          finishedAt: timestampOfNs(instance.finishedAtNs),
          containerID: apiContainerId(context.runtimeName, instance.id),
        },
      };
    case 'unknown':
      if (!hasVanished(instance, old)) return { waiting: {} };
      return unseenEnd(
        context.isRestartingAll ? restartingAllReason : statusUnknownReason,
        lostAtTerminationMessage,
      );
  }
}

/** The status's restart count: it never falls, and grows where the runtime could not count. */
export function apiRestartCount(instance: ObservedContainerStatus, old: ContainerStatus | undefined): number {
  if (old === undefined) return instance.restartCount;
  if (hasVanished(instance, old)) return old.restartCount + 1;
  const ended = old.state?.terminated;
  // The same instance cannot run again: this observation is older than the one that showed its exit.
  const isSameInstance = ended?.containerID?.endsWith(`//${instance.id}`) === true;
  const isNewRun = instance.state === 'running' && ended !== undefined && !isSameInstance;
  if (isNewRun && old.restartCount >= instance.restartCount) return old.restartCount + 1;
  return Math.max(old.restartCount, instance.restartCount);
}

function hasVanished(instance: ObservedContainerStatus, old: ContainerStatus | undefined): boolean {
  return instance.state === 'unknown' && old?.state?.running !== undefined;
}

export function containerUser(instance: ObservedContainerStatus): ContainerUser | undefined {
  if (instance.user === undefined) return undefined;
  const { uid, gid, supplementalGroups } = instance.user;
  return {
    linux: {
      uid,
      gid,
      ...(supplementalGroups.length === 0 ? {} : { supplementalGroups: [...supplementalGroups] }),
    },
  };
}

/** The mounts from the spec; the runtime knows no volume names. */
export function volumeMountStatuses(
  container: Container,
  supportsRecursiveReadOnly: boolean,
): VolumeMountStatus[] {
  return (container.volumeMounts ?? []).map((mount) => {
    const { name, mountPath } = mount;
    if (mount.readOnly !== true) return { name, mountPath };
    const isRecursive = supportsRecursiveReadOnly && asksRecursiveReadOnly(mount);
    return { name, mountPath, readOnly: true, recursiveReadOnly: isRecursive ? 'Enabled' : 'Disabled' };
  });
}

/** The API takes no longer references. */
const maxImageRefLength = 256;

/** Says of mounts of image volumes which image the instance really has there. */
export function withImageRefs(
  statuses: readonly VolumeMountStatus[],
  mounts: readonly ObservedMount[],
): VolumeMountStatus[] {
  const images = new Map(
    mounts.map(({ containerPath, image = '', imageRef = image }) => [containerPath, imageRef]),
  );
  return statuses.map((status) => {
    const imageRef = images.get(status.mountPath) ?? '';
    if (imageRef === '' || imageRef.length > maxImageRefLength) return status;
    return { ...status, volumeStatus: { image: { imageRef } } };
  });
}

function asksRecursiveReadOnly({ recursiveReadOnly, mountPropagation }: VolumeMount): boolean {
  const isAsked = recursiveReadOnly === 'Enabled' || recursiveReadOnly === 'IfPossible';
  return isAsked && (mountPropagation === undefined || mountPropagation === 'None');
}

/** The instant to the second. Zero becomes the epoch, as for a container that failed to start. */
export function timestampOfNs(epochNs: bigint): string {
  return formatTimestamp(Number(epochNs / 1_000_000n));
}
