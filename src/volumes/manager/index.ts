/** The volume manager: desired and actual state, and the operations that reconcile them. */
export type { VolumeAttachments } from './attachments.js';
export type { VolumeMountContext } from './container-mounts.js';
export { VolumeManager, type VolumeManagerOptions } from './manager.js';
export type { VolumePods } from './reconciler.js';
export { volumeWaitMs } from './volume-waits.js';
