/** CSI drivers: their registration, what the cluster says of them and is told of them, and the volumes that they serve. */
export { AllocatableUpdates } from './allocatable-updates.js';
export { type CallCsi, callCsiByGrpc, createCsiMetrics } from './call.js';
export type { CsiClientOptions } from './client.js';
export { type DriverPolicies, type DriverPolicy, standalonePolicies } from './driver-policy.js';
export { CsiDrivers } from './drivers.js';
export { type HealthNotice, HealthUpdates } from './health-updates.js';
export { csiPluginName } from './names.js';
export { type CsiObjects, type CsiVolumesOptions, csiVolumes } from './plugin.js';
export { type CsiClaim, CsiRegistration, type DriverNotice } from './registration.js';
