/** The cgroups of each pod, of all pods together and of the node's own processes, which limit and account for resources. */

export { createCgroupMetrics, createMemoryQosMetrics } from '../metrics.js';
export { type CgroupControl, CgroupfsControl } from './control.js';
export type { CgroupHierarchy } from './hierarchy.js';
export { linuxCgroups } from './linux.js';
export { linuxProcesses } from './linux-processes.js';
export { type CgroupName, cgroupfsNaming, systemdNaming } from './names.js';
export { cgroupRootProblem, NodeCgroups, type NodeLimits } from './node-cgroups.js';
export { PodCgroupManager } from './pod-cgroups.js';
export { CgroupNames } from './pod-names.js';
export { ProcessCgroups } from './process-cgroups.js';
export { enforceReserved, reservedPlans, reservedValues } from './reserved-cgroups.js';
export { type SliceManager, SystemdControl } from './systemd-control.js';
export type { TierDemand, TierSettings } from './tiers.js';
export { controllerMounts } from './v1-mounts.js';
export { type CgroupValues, type PodCgroupSettings, type PodMemoryQos, podCgroupValues } from './values.js';
