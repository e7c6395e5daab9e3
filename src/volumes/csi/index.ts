/** CSI drivers: their registration, what the cluster says of them and is told of them, and the volumes that they serve. */
export { type CallCsi, callCsiByGrpc, createCsiMetrics } from './call.js';
export type { CsiClientOptions } from './client.js';
export type { DriverPolicies, DriverPolicy } from './driver-policy.js';
export { CsiDrivers } from './drivers.js';
export { type CsiClaim, CsiRegistration, type DriverNotice } from './registration.js';
