/** What becomes of the state of a mount when an operation on it fails. */
import { podRef } from '../../timeline/index.js';
import { VolumeFailure, type VolumeFailureClass } from '../contracts.js';
import type { ActualMount, WantedMount } from './states.js';

/** Plugins that say nothing mean that nothing of the attempt goes on. */
export function failureClass(error: unknown): VolumeFailureClass {
  return error instanceof VolumeFailure ? error.failureClass : 'final';
}

/** The mount after a failed set-up; undefined when nothing is mounted. */
export function afterFailedMount(
  before: ActualMount | undefined,
  wanted: WantedMount,
  kind: VolumeFailureClass,
): ActualMount | undefined {
  switch (kind) {
    case 'transient':
      return before;
    case 'uncertain':
      return before ?? { ...identity(wanted), state: 'uncertain' };
    case 'final':
      // A refresh that failed leaves what is mounted; what was found on disk may be in use by containers.
      return before?.state === 'uncertain' && !before.reconstructed ? undefined : before;
  }
}

/** `remountRequired` when the pod was processed again while this was under way. */
export function afterMount(wanted: WantedMount, remountRequired: boolean): ActualMount {
  return { ...identity(wanted), state: 'mounted', remountRequired };
}

/** After a tear-down that failed half-way nobody knows what is left. */
export function afterFailedUnmount(before: ActualMount): ActualMount {
  return { ...before, state: 'uncertain' };
}

function identity(wanted: WantedMount): Omit<ActualMount, 'state'> {
  const { uniqueName, podUid, pluginName, innerName } = wanted;
  return {
    uniqueName,
    podUid,
    pluginName,
    innerName,
    reconstructed: false,
    remountRequired: false,
    owner: podRef(wanted.pod),
  };
}
