/** Decides what to mount and unmount next, from the desired state, the actual state and the running operations. */

import type { ContainerVolumeMode } from '../contracts.js';
import {
  type OperationBook,
  type OperationKey,
  type OperationName,
  operationKey,
  operationKeyText,
  permission,
} from './operations.js';
import {
  type ActualDevice,
  type ActualMount,
  type ActualState,
  type DesiredState,
  hasSameLabel,
  isOtherwiseLabelled,
  type WantedMount,
  type WantedSize,
} from './states.js';

export interface VolumePlanInput {
  readonly desired: DesiredState;
  readonly actual: ActualState;
  readonly operations: OperationBook;
  readonly nowMs: number;
  /** Whether all sources have delivered their pods to `desired`, so that a missing pod is unwanted. */
  readonly readyToUnmount: boolean;
  /** Whether nothing of the pod runs or will run. */
  readonly isRuntimeGone: (podUid: string) => boolean;
  /** Whether the cluster has attached the volume, where it must; by default none must be. */
  readonly isAttached?: ((wanted: WantedMount) => boolean) | undefined;
}

export type PlannedOperation = { readonly key: OperationKey; readonly because: string } & (
  | { readonly name: 'volume_unmount' | 'unmap_volume'; readonly mount: ActualMount }
  | {
      readonly name: 'volume_mount' | 'map_volume';
      readonly wanted: WantedMount;
      /** Repeats the set-up of a mounted volume. */
      readonly isRemount: boolean;
      /** The refresh that comes with every sync of the pod. */
      readonly isRoutine: boolean;
    }
  | { readonly name: 'unmount_device' | 'unmap_device'; readonly device: ActualDevice }
  | { readonly name: 'volume_fs_resize'; readonly wanted: WantedMount; readonly size: WantedSize }
);

const operationsByMode = {
  Filesystem: { mount: 'volume_mount', unmount: 'volume_unmount', device: 'unmount_device' },
  Block: { mount: 'map_volume', unmount: 'unmap_volume', device: 'unmap_device' },
} as const satisfies Record<ContainerVolumeMode, Record<string, OperationName>>;

export interface VolumePlan {
  /** To be started in this order; they run concurrently. */
  readonly operations: readonly PlannedOperation[];
  /** When the first failed operation may be retried. */
  readonly retryAtMs: number | undefined;
  /** Whether an operation waits for pods to change. No signal announces that, so another pass is worthwhile. */
  readonly isHeldBack: boolean;
  /** Volumes that the cluster must attach first. */
  readonly unattached: readonly WantedMount[];
  /** Volumes that are mounted with another SELinux label, and must be unmounted first. */
  readonly otherwiseLabelled: readonly WantedMount[];
  /** Volumes that wait for another operation on them, or for a back-off. */
  readonly blocked: readonly { readonly wanted: WantedMount; readonly by: 'busy' | 'back-off' }[];
}

export function planVolumes(input: VolumePlanInput): VolumePlan {
  const { desired, actual, nowMs } = input;
  const operations: PlannedOperation[] = [];
  const planned = new Map(input.operations);
  let retryAtMs: number | undefined;
  let isHeldBack = false;
  const unattached: WantedMount[] = [];
  const otherwiseLabelled: WantedMount[] = [];
  const blocked: { wanted: WantedMount; by: 'busy' | 'back-off' }[] = [];
  const consider = (operation: PlannedOperation): void => {
    const { key, name } = operation;
    const may = permission(planned, key, name, nowMs);
    if (may.kind === 'back-off') retryAtMs = Math.min(retryAtMs ?? may.untilMs, may.untilMs);
    if (may.kind !== 'go') {
      if ('isRoutine' in operation) blocked.push({ wanted: operation.wanted, by: may.kind });
      return;
    }
    operations.push(operation);
    planned.set(operationKeyText(key), { ...key, name, pending: true, delayMs: 0, failedAtMs: 0 });
  };

  for (const [key, mount] of actual.mounts) {
    if (desired.has(key)) continue;
    const because = unmountReason(mount, input);
    if (because === undefined) {
      isHeldBack = true;
      continue;
    }
    const name = operationsByMode[mount.mode].unmount;
    consider({ name, key: keyOf(name, mount, false), because, mount });
  }
  for (const [wantedKey, wanted] of holdersFirst(input)) {
    const mount = actual.mounts.get(wantedKey);
    const because = mountReason(mount);
    if (because === undefined) {
      const resize = resizeOf(wanted, input);
      if (resize !== undefined) consider(resize);
      continue;
    }
    if (isOtherwiseLabelled(actual, wanted)) {
      otherwiseLabelled.push(wanted);
      continue;
    }
    // What is here already was attached, and must be verified whatever the cluster says now.
    const isHere = mount !== undefined || actual.devices.has(wanted.uniqueName);
    if (!isHere && input.isAttached?.(wanted) === false) {
      unattached.push(wanted);
      continue;
    }
    const isRemount = mount !== undefined && (mount.state === 'mounted' || mount.reconstructed);
    const name = operationsByMode[wanted.mode].mount;
    const key = keyOf(name, wanted, wanted.hasDevice);
    const isRoutine = mount?.state === 'mounted';
    consider({ name, key, because, wanted, isRemount, isRoutine });
  }
  for (const device of actual.devices.values()) {
    if (isInUse(device, input)) continue;
    if (!input.readyToUnmount) {
      isHeldBack = true;
      continue;
    }
    const key: OperationKey = { uniqueName: device.uniqueName, podUid: undefined };
    const name = operationsByMode[device.mode].device;
    consider({ name, key, because: deviceReason(device, input), device });
  }
  return { operations, retryAtMs, isHeldBack, unattached, otherwiseLabelled, blocked };
}

/**
 * Mounts of one device share a back-off. Those that are there come first: a volume for one pod alone is verified for the pod
 * that has it before it is refused to another one, else the refusals take every turn.
 */
function* holdersFirst({ desired, actual }: VolumePlanInput): Generator<[string, WantedMount]> {
  const others: [string, WantedMount][] = [];
  for (const entry of desired) {
    const mount = entry[1].hasDevice ? actual.mounts.get(entry[0]) : undefined;
    const isHolder = mount !== undefined && (mount.state === 'mounted' || mount.reconstructed);
    if (isHolder || !entry[1].hasDevice) yield entry;
    else others.push(entry);
  }
  yield* others;
}

function keyOf(name: OperationName, mount: WantedMount | ActualMount, hasDevice: boolean): OperationKey {
  return operationKey(name, { uniqueName: mount.uniqueName, podUid: mount.podUid, hasDevice });
}

/** Undefined while the mount must stay. A volume in use by a container is never unmounted. */
function unmountReason(
  { podUid, state, reconstructed }: ActualMount,
  { readyToUnmount, isRuntimeGone }: VolumePlanInput,
): string | undefined {
  if (!readyToUnmount || !isRuntimeGone(podUid)) return undefined;
  if (reconstructed) return 'it was found on disk, and no wanted pod uses it';
  return state === 'uncertain'
    ? 'it may be mounted, and the pod has ended'
    : 'the pod has ended and nothing of it runs';
}

/** Undefined if there is nothing to do. */
function mountReason(mount: ActualMount | undefined): string | undefined {
  if (mount === undefined) return 'the pod wants it and it is not mounted';
  if (mount.state === 'uncertain') {
    return mount.reconstructed
      ? 'it was found on disk and must be verified'
      : 'an earlier attempt may have mounted it';
  }
  return mount.remountRequired ? 'the pod was processed again, and its content may have changed' : undefined;
}

/** A volume in use that has grown. A read-only one was reported when it was mounted. */
function resizeOf(wanted: WantedMount, { actual: { sizes } }: VolumePlanInput): PlannedOperation | undefined {
  const { uniqueName, size, spec } = wanted;
  if (size === undefined || sizes === undefined || sizes.isInUse(uniqueName)) return undefined;
  if (spec.kind !== 'persistent' || spec.readOnly) return undefined;
  const knownBytes = sizes.sizeOf(uniqueName);
  if (knownBytes === 0n || size.volumeBytes <= knownBytes) return undefined;
  const because = 'the PersistentVolume is larger than the volume was';
  return {
    name: 'volume_fs_resize',
    key: keyOf('volume_fs_resize', wanted, wanted.hasDevice),
    because,
    wanted,
    size,
  };
}

function deviceReason({ uniqueName }: ActualDevice, { desired }: VolumePlanInput): string {
  for (const wanted of desired.values()) {
    if (wanted.uniqueName === uniqueName) return 'a pod wants the volume with another SELinux label';
  }
  return 'no pod uses the volume any more';
}

/** Pods that want the volume with another label wait until it is gone. */
function isInUse(device: ActualDevice, { desired, actual }: VolumePlanInput): boolean {
  const { uniqueName } = device;
  for (const wanted of desired.values()) {
    if (wanted.uniqueName === uniqueName && hasSameLabel(wanted, device)) return true;
  }
  for (const mount of actual.mounts.values()) if (mount.uniqueName === uniqueName) return true;
  return false;
}
