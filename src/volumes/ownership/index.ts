/** Gives a volume's files to the pod's fsGroup. */

export {
  setVolumeOwnership,
  type VolumeOwnership,
  type VolumeOwnershipOutcome,
} from './ownership-walk.js';
export { giveToPodGroup } from './pod-ownership.js';
