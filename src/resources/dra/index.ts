/** Dynamic resource allocation: drivers that prepare the devices of ResourceClaims for pods. */

export type { CachedClaim } from './claim-cache.js';
export type { ClaimRecord, DraApi, DriverConnection, OpenDriver, PreparedDevice } from './contracts.js';
export { type ClaimDevice, devicesOfClaim, isForRequest } from './devices.js';
export { DRAPlugin, type NodePrepareResourceResponse } from './gen/dra.js';
export { DRAResourceHealth, HealthStatus } from './gen/dra-health.js';
export { openGrpcDriver } from './grpc-driver.js';
export { draLimits } from './limits.js';
export { DraManager, type DraManagerOptions, draStateFile } from './manager.js';
export { createDraMetrics, registerClaimsInUse } from './metrics.js';
export { claimsOfContainer, isBackedByClaim, usesClaims } from './pod-claims.js';
export { DraRegistration } from './registration.js';
export { openSimulatedDrivers, SimulatedDriver } from './simulated-driver.js';
