/**
 * gRPC for the sockets of a node: a client, a server and the messages. The room knows neither Kubernetes nor CRI.
 * `npm run generate` turns protos into `MessageType`s and method tables; `GrpcConnection` calls the methods of a table,
 * `serveGrpc` serves them. HTTP/2 and the message framing are private to the room; the wire format is open to codecs with tables of
 * their own.
 */

export { type CallOptions, type ConnectionEvents, GrpcConnection, type GrpcHost } from './connection.js';
export {
  asGrpcError,
  GrpcCode,
  type GrpcCodeName,
  GrpcError,
  grpcCodeName,
  grpcErrorFromStatus,
  isDeadlineExceeded,
  isNotFound,
  isUnavailable,
  isUnimplemented,
} from './errors.js';
export * from './google/gen/timestamp.js';
export * from './google/gen/wrappers.js';
export { grpcClientLimits, grpcServerLimits } from './limits.js';
export { type FieldRow, type Init, MessageType, type MethodInfo } from './protobuf/codec.js';
export { WireError, WireReader, WireType, WireWriter } from './protobuf/wire.js';
export { CallRate } from './rate-limit.js';
export { type GrpcServer, type GrpcService, type ServeGrpcOptions, serveGrpc } from './server.js';
