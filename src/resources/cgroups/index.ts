/** The cgroups of each pod and of all pods together, which limit and account for resources. */
export type { CgroupHierarchy } from './hierarchy.js';
export { linuxCgroups } from './linux.js';
export { CgroupNames } from './names.js';
export { cgroupRootProblem, NodeCgroups, type NodeLimits } from './node-cgroups.js';
export { type CgroupOperation, PodCgroupManager } from './pod-cgroups.js';
export type { CgroupValues, PodCgroupSettings } from './values.js';
