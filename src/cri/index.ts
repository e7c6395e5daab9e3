/** The CRI contract of nodelet: messages, the `CriRuntime` port, its gRPC client and server. */

export { type Init, MessageType, type MethodInfo, WireError } from '../grpc/index.js';
export { type OperationType, operationTypes } from './call-rules.js';
export { type ConnectCriOptions, type CriClient, connectCri } from './client.js';
export {
  ContainerdContent,
  type FetchedBlob,
  type ImageRepository,
  type StoredBlob,
} from './containerd-content.js';
export {
  type ContainerdEvent,
  type SubscribeContainerdEventsOptions,
  subscribeContainerdEvents,
} from './containerd-events.js';
export { socketPathOfEndpoint } from './endpoint.js';
export {
  asCriError,
  CriCode,
  type CriCodeName,
  CriError,
  criCodeName,
  criErrorFromStatus,
  isDeadlineExceeded,
  isNotFound,
  isUnavailable,
  isUnimplemented,
} from './errors.js';
export { CommandExitError, commandOutcome, type ExecSyncOutcome } from './exec-sync.js';
export * from './gen/cri.js';
export {
  type FaultSymptom,
  faultText,
  type KnownFault,
  type KnownFaultId,
  knownFaults,
  oomKilledReason,
  recogniseFault,
} from './known-faults.js';
export { type CriMetrics, createCriMetrics } from './metrics.js';
export * from './observed.js';
export {
  type CallOptions,
  type CriMethodName,
  type CriRuntime,
  criMethods,
  isCriMethodName,
  type StreamCall,
  type UnaryCall,
  unimplementedCriRuntime,
} from './runtime.js';
export { type FailureMark, failureMark } from './runtime-texts.js';
export { type NewSandbox, type SandboxVerdict, sandboxVerdict } from './sandbox-verdict.js';
export { type CriServer, type ServeCriOptions, serveCri } from './server.js';
export { type CallRulesOptions, forgivenError, withCallRules } from './with-call-rules.js';
