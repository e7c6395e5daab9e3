/** Classes of failures of drivers: whether something may still be going on. */
import { errorText } from '../../async/index.js';
import { type GrpcCodeName, GrpcError } from '../../grpc/index.js';
import { VolumeFailure, type VolumeFailureClass } from '../contracts.js';

const uncertainCodes: ReadonlySet<GrpcCodeName> = new Set([
  'Canceled',
  'DeadlineExceeded',
  'ResourceExhausted',
  'Aborted',
  'Unavailable',
]);

export function callFailureClass(error: unknown): VolumeFailureClass {
  if (error instanceof VolumeFailure) return error.failureClass;
  if (error instanceof GrpcError && !uncertainCodes.has(error.codeName)) return 'final';
  // A failure that the driver did not report says nothing about what the driver does.
  return 'uncertain';
}

/** The failure of a call that changes something. */
export function callFailure(error: unknown): VolumeFailure {
  return new VolumeFailure(callFailureClass(error), errorText(error), { cause: error });
}

/** The failure of a step of the set-up before anything is changed. */
export function transient(text: string, error: unknown): VolumeFailure {
  return new VolumeFailure('transient', `${text}${errorText(error)}`, { cause: error });
}

/** The same with the class that the failure has already. */
export function prefixed(text: string, error: unknown): VolumeFailure {
  const kind = error instanceof VolumeFailure ? error.failureClass : 'final';
  return new VolumeFailure(kind, `${text}${errorText(error)}`, { cause: error });
}
