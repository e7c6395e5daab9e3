/** The messages of failed waits for volumes, as users know them. */
import { goQuote, type Pod } from '../../kube/index.js';
import { usedVolumes } from './desired-state.js';
import {
  type ActualState,
  type DesiredState,
  isOtherwiseLabelled,
  mountKey,
  type WantedMount,
} from './states.js';

const list = (names: readonly string[]): string => `[${[...names].sort().join(' ')}]`;

export interface MountWait {
  /** Names of the pod's volumes. */
  readonly unmounted: readonly string[];
  /** Volumes that the cluster must attach to this machine first, and has not. */
  readonly unattached: readonly string[];
  /** Volumes that could not be processed. */
  readonly unprocessed: readonly string[];
}

/** What is still missing of a pod's volumes. */
export function mountWait(
  pod: Pod,
  desired: DesiredState,
  actual: ActualState,
  isAttached: (wanted: WantedMount) => boolean = () => true,
): MountWait {
  const { uid } = pod.metadata;
  const wanted = new Set<string>();
  const mounted = new Set<string>();
  const unattached = new Set<string>();
  for (const mount of desired.values()) {
    if (mount.podUid !== uid) continue;
    const isMounted = actual.mounts.get(mountKey(mount))?.state === 'mounted';
    for (const name of mount.volumeNames) {
      wanted.add(name);
      if (isMounted) mounted.add(name);
      else if (!isAttached(mount)) unattached.add(name);
    }
  }
  const names = usedVolumes(pod).map(({ name }) => name);
  return {
    unmounted: names.filter((name) => !mounted.has(name)),
    unattached: names.filter((name) => unattached.has(name)),
    unprocessed: names.filter((name) => !wanted.has(name)),
  };
}

export function mountWaitText({ unmounted, unattached, unprocessed }: MountWait, problem: string): string {
  return `unmounted volumes=${list(unmounted)}, unattached volumes=${list(unattached)}, failed to process volumes=${list(unprocessed)}: ${problem}`;
}

/** Why the pod's volumes cannot be mounted while others have them; undefined if that is not so. */
export function labelWaitText(pod: Pod, desired: DesiredState, actual: ActualState): string | undefined {
  const waiting = [...desired.values()].find(
    (wanted) => wanted.podUid === pod.metadata.uid && isOtherwiseLabelled(actual, wanted),
  );
  if (waiting === undefined) return undefined;
  return `waiting for unmount of volume ${goQuote(waiting.innerName)}, because it is already mounted to a different pod with a different SELinux label`;
}

export function unmountWaitText(uniqueNames: readonly string[], problem: string): string {
  return `mounted volumes=${list(uniqueNames)}: ${problem}`;
}
