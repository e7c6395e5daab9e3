/** Reaches registration sockets of the machine by gRPC. */
import { GrpcConnection } from '../grpc/index.js';
import type { OpenPluginSocket } from './contracts.js';
import { Registration } from './gen/registration.js';

export const openGrpcSocket: OpenPluginSocket = (socketPath) => {
  const connection = new GrpcConnection(socketPath);
  return {
    info: (options) => connection.unary(Registration.getInfo, {}, options),
    notify: async (status, options) => {
      await connection.unary(Registration.notifyRegistrationStatus, status, options);
    },
    close: () => connection.close(),
  };
};
