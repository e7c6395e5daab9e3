/** The volumes of pods: what is mounted where, by which plugin, and what containers see of it. */
export * from './contracts.js';
export * from './csi/index.js';
export {
  type VolumeAttachments,
  VolumeManager,
  type VolumeManagerOptions,
  type VolumeMountContext,
  type VolumePods,
  volumeWaitMs,
} from './manager/index.js';
export { createVolumeMetrics, registerVolumeCounts, type VolumeMetrics } from './metrics.js';
export { cleanOrphanedPods, type OrphanedPods, type OrphanedPodsOutcome } from './orphans.js';
export {
  diskTools,
  flexPrograms,
  type RunTool,
  type VolumePluginsOptions,
  volumePlugins,
} from './plugins/index.js';
export * from './pod-certificates/index.js';
export * from './tokens/index.js';
export * from './trust-bundles/index.js';
