/** Plugins of the node: programs that register themselves by a socket, and what they register for. */
export type {
  OpenPluginSocket,
  PluginAnswer,
  PluginClaim,
  PluginConnection,
  PluginHandler,
} from './contracts.js';
export { openGrpcSocket } from './grpc-socket.js';
export { pluginLimits } from './limits.js';
export { PluginManager, type PluginManagerOptions } from './manager.js';
export { registerPluginCounts } from './metrics.js';
