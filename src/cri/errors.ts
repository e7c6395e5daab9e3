/** The error of a CRI call: a gRPC status, even if the runtime is in this process. */
export {
  asGrpcError as asCriError,
  GrpcCode as CriCode,
  type GrpcCodeName as CriCodeName,
  GrpcError as CriError,
  grpcCodeName as criCodeName,
  grpcErrorFromStatus as criErrorFromStatus,
  isDeadlineExceeded,
  isNotFound,
  isUnavailable,
  isUnimplemented,
} from '../grpc/index.js';
