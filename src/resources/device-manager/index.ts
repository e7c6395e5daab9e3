/** Devices that plugins offer: who may have them, who has them, and what they bring into containers. */
export type { DeviceAdditions } from './added-devices.js';
export {
  type DevicePluginClient,
  defaultDevicePluginDirectory,
  deviceCheckpointName,
  type OpenDevicePlugin,
  type PluginCallOptions,
  type PluginDevice,
  registrationSocketName,
  type ServeDeviceRegistration,
} from './contracts.js';
export { type DeviceCapacity, DeviceManager, type DeviceManagerOptions } from './device-manager.js';
export { type DeviceHolder, idsOf } from './device-records.js';
export type {
  AllocateResponse,
  ContainerPreferredAllocationRequest,
  DevicePluginOptions,
  ListAndWatchResponse,
  PreferredAllocationResponse,
  RegisterRequest,
} from './gen/device-plugin.js';
export { openDevicePlugin, serveDeviceRegistration } from './grpc-plugins.js';
export { deviceLimits } from './limits.js';
export { createDeviceManagerMetrics, type DeviceManagerMetrics } from './metrics.js';
export { DeviceRegistration, type DeviceRegistrationOptions } from './registration.js';
export type { ResourceState } from './resource-state.js';
