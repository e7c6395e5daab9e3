/** What CSI needs of a cluster; loaded only by a node that has one. */
export { ApiDriverPolicies } from './csi-drivers.js';
export { ApiCsiNode } from './csi-node.js';
export { apiCsiObjects } from './csi-objects.js';
export { ApiHealthNotice } from './health-notice.js';
