/** What the services of a storage driver demand of a request before they do anything. */
import { GrpcError } from '../../../src/grpc/index.js';
import type { CapacityRange, VolumeCapability } from '../../../src/volumes/csi/gen/csi.js';
import type { VolumeAccess } from './volumes.js';

/** Refuses a request that lacks one of these. */
export function demand(fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields)) {
    const isMissing = value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
    if (isMissing) throw new GrpcError('InvalidArgument', `the request has no ${name}`);
  }
}

export function accessOf(capability: VolumeCapability | undefined): VolumeAccess {
  if (capability?.accessType === undefined || (capability.accessMode?.mode ?? 0) === 0) {
    throw new GrpcError('InvalidArgument', 'the capability has no access type or no access mode');
  }
  return capability.accessType.case;
}

/** What a range asks for; a size of one's own is taken where it leaves that open. */
export function sizeIn(range: CapacityRange | undefined, otherwiseBytes: number): number {
  const { requiredBytes = 0, limitBytes = 0 } = range ?? {};
  if (requiredBytes < 0 || limitBytes < 0 || (limitBytes > 0 && requiredBytes > limitBytes)) {
    throw new GrpcError('OutOfRange', `no size between ${requiredBytes} and ${limitBytes} bytes`);
  }
  if (requiredBytes > 0) return requiredBytes;
  return limitBytes > 0 ? Math.min(limitBytes, otherwiseBytes) : otherwiseBytes;
}
