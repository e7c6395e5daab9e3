/** All Kubernetes object types. */
export type * from './container.js';
export type * from './meta.js';
export type * from './node.js';
export type * from './objects.js';
export type * from './persistent-volume.js';
export type * from './pod.js';
export type * from './pod-status.js';
export type * from './security-context.js';
export type * from './volume.js';
export type * from './workloads.js';
