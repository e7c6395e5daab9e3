/** The cgroups of pods and of all pods together, which bound and count what they use. */
export type { CgroupHierarchy } from './hierarchy.js';
export { linuxCgroups } from './linux.js';
export { CgroupNames } from './names.js';
export { cgroupRootProblem, NodeCgroups, type NodeLimits } from './node-cgroups.js';
export { type CgroupOperation, PodCgroups } from './pod-cgroups.js';
export type { CgroupValues, PodCgroupSettings } from './values.js';
