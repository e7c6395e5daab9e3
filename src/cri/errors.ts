/** The error of a CRI call is a gRPC status, also where the runtime is inside the process. */
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
