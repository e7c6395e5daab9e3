/** Builds a node's lease. */
import { clone, formatMicroTimestamp, type Lease, type Node, type OwnerReference } from '../../kube/index.js';

export const leaseNamespace = 'kube-node-lease';

export interface LeaseSettings {
  readonly nodeName: string;
  readonly durationSeconds: number;
}

/** The renewed lease, or a new one if there is none; an existing holder stays. */
export function renewedLease(
  base: Lease | undefined,
  { nodeName, durationSeconds }: LeaseSettings,
  nowMs: number,
  owner: OwnerReference | undefined,
): Lease {
  const lease: Lease = base === undefined ? newLease(nodeName) : clone(base);
  lease.spec = {
    ...lease.spec,
    leaseDurationSeconds: durationSeconds,
    renewTime: formatMicroTimestamp(nowMs),
  };
  if (needsOwner(lease) && owner !== undefined) lease.metadata.ownerReferences = [owner];
  return lease;
}

function newLease(nodeName: string): Lease {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: nodeName, namespace: leaseNamespace },
    spec: { holderIdentity: nodeName },
  };
}

export function needsOwner(lease: Lease | undefined): boolean {
  return (lease?.metadata.ownerReferences ?? []).length === 0;
}

export function leaseOwner({ metadata: { name = '', uid = '' } }: Node): OwnerReference {
  return { apiVersion: 'v1', kind: 'Node', name, uid };
}
