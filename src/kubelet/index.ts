/** The kubelet: everything a node agent is made of, put together. */
export { actedOnFields, actedOnGates, clusterFlags, inertFlags } from './acted-on.js';
export type { Admission, AdmissionHandler } from './admission.js';
export { readCgroupDriver } from './cgroup-driver.js';
export { createKubelet } from './create.js';
export type { Kubelet } from './kubelet.js';
export { createMetrics, type KubeletMetrics } from './metrics.js';
export type { KubeletModule, KubeletModules } from './modules.js';
export { detectNodeAddress } from './node-address.js';
export type { KubeletOptions } from './options.js';
export type { MirrorPods, PodCgroups, PodObjects, PodVolumes } from './seams.js';
