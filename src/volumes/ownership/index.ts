/** Gives a volume's files to the pod's fsGroup. */
export {
  setVolumeOwnership,
  type VolumeOwnership,
  type VolumeOwnershipOutcome,
  volumePermissionChangeInProgress,
} from './ownership-walk.js';
