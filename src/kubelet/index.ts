/** The kubelet: everything a node agent is made of, put together. */
export { actedOnFields, actedOnGates, clusterFlags, inertFlags, partlyActedOnGates } from './acted-on.js';
export type {
  Admission,
  AdmissionAttempt,
  AdmissionHandler,
  AdmissionOperation,
  AdmissionRule,
} from './admission/admission.js';
export { createKubelet } from './create.js';
export type * from './describe-node/contracts.js';
export type { Kubelet } from './kubelet.js';
export { Link } from './link.js';
export { createKubeletMetrics } from './metrics.js';
export type { KubeletOptions } from './options.js';
export { type Outside, plainOutside } from './outside.js';
export type { MirrorPods, PodCgroups, PodObjects, PodVolumes } from './ports.js';
export { defaultStartsAtOnce } from './settings.js';
export { readCgroupDriver } from './start-up/cgroup-driver.js';
export { type KubeletManagers, ManagerStartFailure, type StartManager } from './start-up/managers.js';
export { detectNodeAddress } from './start-up/node-address.js';
export type * from './what-if/contracts.js';
export type { CgroupTable, ConfigProposals } from './what-if/proposals.js';
