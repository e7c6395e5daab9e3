/** Resource usage of the node and its pods: the summary from the runtime's statistics, and its metrics. */

export {
  createStatsMetrics,
  createVolumeMeasureMetrics,
  registerLogMetrics,
  registerVolumeMetrics,
} from '../metrics.js';
export { type MachineShape, machineText, readMachineShape } from './cadvisor-machine.js';
export type { CadvisorPage } from './cadvisor-scrape.js';
export { cgroupOfProcess } from './cgroup.js';
export { type SystemCgroupSettings, systemCgroups } from './cgroup-names.js';
export { CgroupSampler } from './cgroup-sampler.js';
export { filledFileSystems } from './file-system-figures.js';
export { type KernelFiles, linuxKernelFiles } from './kernel-files.js';
export { statsLimits } from './limits.js';
export { type LinuxMachineOptions, linuxMachine, type Machine, type MachineUsage } from './machine.js';
export { decidedOnce, measuredBy } from './measured-by.js';
export { diskCounters } from './mounted-file-systems.js';
export { containerLogs } from './pod-storage.js';
export type { PodVolumeUsage } from './pod-summary.js';
export {
  type MeasuredNode,
  type MemoryLimits,
  type NodeLook,
  type StatsProvider,
  type StatsProviderOptions,
  type SystemCgroup,
  statsProvider,
} from './provider.js';
export { resourceMetricsText } from './resource-metrics.js';
export { type NodeFileSystems, nodeFileSystems } from './runtime-file-systems.js';
export type * from './summary-types.js';
export { volumeMeasures } from './volume-measures.js';
export { VolumeUsages } from './volume-usage.js';
