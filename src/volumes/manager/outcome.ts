/** The state of a mount after an operation on it fails. */
import { podRef } from '../../timeline/index.js';
import { VolumeFailure, type VolumeFailureClass } from '../contracts.js';
import type { ActualMount, WantedMount } from './states.js';

/** Without a class from the plugin, nothing of the attempt is still running. */
export function failureClass(error: unknown): VolumeFailureClass {
  return error instanceof VolumeFailure ? error.failureClass : 'final';
}

/** The mount after a failed set-up; undefined if nothing is mounted. */
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
      // A failed refresh leaves the mount in place; containers may be using one found on disk.
      return before?.state === 'uncertain' && !before.reconstructed ? undefined : before;
  }
}

/** `remountRequired` if the pod was processed again meanwhile. */
export function afterMount(wanted: WantedMount, remountRequired: boolean): ActualMount {
  return { ...identity(wanted), state: 'mounted', remountRequired };
}

/** After a failed tear-down it is unknown what is left. */
export function afterFailedUnmount(before: ActualMount): ActualMount {
  return { ...before, state: 'uncertain' };
}

function identity(wanted: WantedMount): Omit<ActualMount, 'state'> {
  const { uniqueName, podUid, pluginName, innerName, mode, driver, seLinuxLabel } = wanted;
  return {
    uniqueName,
    podUid,
    pluginName,
    innerName,
    mode,
    driver,
    seLinuxLabel,
    reconstructed: false,
    remountRequired: false,
    owner: podRef(wanted.pod),
  };
}
