/** Many nodes in one process: the whole kubelet on simulated runtimes, for tests of whatever runs in a cluster. */
export type {
  HollowNodeRequest,
  HollowNodeStatus,
  HollowNodes,
  HollowNodesOptions,
  HollowOutcome,
} from './fleet/contracts.js';
export { createHollowNodes } from './fleet/fleet.js';
export type { HollowNodeState } from './node/contracts.js';
export type { HollowNode } from './node/hollow-node.js';
export type { HollowKubeletApi } from './node/kubelet-api.js';
export { defaultProfile, type NodeProfile } from './node/profile.js';
export {
  type HollowAnswer,
  HollowConsole,
  type HollowProcessReport,
  serveConsole,
} from './process/console.js';
export {
  countStates,
  type HollowAction,
  type HollowControl,
  type HollowReport,
  type HollowSettings,
} from './process/contracts.js';
export { openFleet } from './process/open-fleet.js';
export { openThreadedFleet } from './process/threaded-fleet.js';
export { templateProblem } from './profiles/node-names.js';
export { ProfileProblem, profileKeys, profileReaders } from './profiles/profile-fields.js';
export { type NodeGroup, ProfileFileError, readProfiles } from './profiles/read-profiles.js';
