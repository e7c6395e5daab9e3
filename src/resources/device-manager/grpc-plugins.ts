/** Reaches device plugins by gRPC, and lets them reach the agent. */
import { GrpcConnection, serveGrpc } from '../../grpc/index.js';
import type { OpenDevicePlugin, ServeDeviceRegistration } from './contracts.js';
import { DevicePlugin, type RegisterRequest, Registration } from './gen/device-plugin.js';

export const openDevicePlugin: OpenDevicePlugin = (socketPath) => {
  const connection = new GrpcConnection(socketPath);
  return {
    options: (call) => connection.unary(DevicePlugin.getDevicePluginOptions, {}, call),
    listAndWatch: (signal) => connection.stream(DevicePlugin.listAndWatch, {}, { signal }),
    preferred: (request, call) =>
      connection.unary(DevicePlugin.getPreferredAllocation, { containerRequests: [request] }, call),
    allocate: (ids, call) =>
      connection.unary(DevicePlugin.allocate, { containerRequests: [{ devicesIds: [...ids] }] }, call),
    async preStart(ids, call) {
      await connection.unary(DevicePlugin.preStartContainer, { devicesIds: [...ids] }, call);
    },
    close: () => connection.close(),
  };
};

export const serveDeviceRegistration: ServeDeviceRegistration = (socketPath, register) =>
  serveGrpc(
    [
      {
        methods: Registration,
        implementation: {
          async register(request: RegisterRequest, { signal }: { readonly signal: AbortSignal }) {
            await register(request, signal);
            return {};
          },
        },
      },
    ],
    { socketPath },
  );
