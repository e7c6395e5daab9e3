/** The kubelet: everything a node agent is made of, put together. */
export { actedOnFields, actedOnGates } from './acted-on.js';
export type { Admission, AdmissionHandler } from './admission.js';
export { readCgroupDriver } from './cgroup-driver.js';
export { createKubelet, type Kubelet } from './create.js';
export { createMetrics, type KubeletMetrics } from './metrics.js';
export { detectNodeAddress } from './node-address.js';
export type { KubeletOptions } from './options.js';
export type { MirrorPods, PodCgroups, PodObjects, PodVolumes } from './seams.js';
