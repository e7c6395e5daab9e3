/** Gives a writable volume to the group of its pod, as the pod's security context asks. */
import type { Clock } from '../../async/index.js';
import type { Host } from '../../host/index.js';
import type { Pod } from '../../kube/index.js';
import { setVolumeOwnership, volumePermissionChangeInProgress } from './ownership-walk.js';

export interface PodOwnershipPorts {
  readonly host: Host;
  readonly clock: Clock;
  /** Receives Warning events of the pod. */
  readonly warn?: ((pod: Pod, reason: string, message: string) => void) | undefined;
}

/** Does nothing for a pod without a group. */
export async function giveToPodGroup(
  { host, clock, warn }: PodOwnershipPorts,
  pod: Pod,
  directory: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { fsGroup, fsGroupChangePolicy: policy } = pod.spec.securityContext ?? {};
  await setVolumeOwnership({
    host,
    clock,
    directory,
    podUid: pod.metadata.uid,
    fsGroup,
    readOnly: false,
    changePolicy: policy === 'OnRootMismatch' ? policy : 'Always',
    signal,
    ...(warn === undefined
      ? {}
      : { onProgress: (message: string) => warn(pod, volumePermissionChangeInProgress, message) }),
  });
}
