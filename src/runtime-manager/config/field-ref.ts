/** The values of `fieldRef`: the fields of its pod that a container may read. */
import {
  isHostNetwork,
  metadataFieldValue,
  type ObjectFieldSelector,
  orderPodIps,
  type Pod,
  splitSubscript,
  subscriptedMetadata,
} from '../../kube/index.js';
import type { RuntimeSettings } from './settings.js';

export interface PodAddresses {
  /** At most one per family, the node's primary family first. */
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
}

/** The pod's own addresses, or the host's for a host-network pod. */
export function podAddresses(
  pod: Pod,
  podIps: readonly string[],
  { nodeIps, hostIps }: Pick<RuntimeSettings, 'nodeIps' | 'hostIps'>,
): PodAddresses {
  const own = podIps.length === 0 && isHostNetwork(pod) ? hostIps : podIps;
  return { podIps: orderPodIps(own, nodeIps), hostIps };
}

/** Fields that the API accepts in a selector, though containers cannot have them. */
const acceptedFields = new Set(['spec.restartPolicy', 'spec.schedulerName', 'status.phase']);

export function fieldRefValue(selector: ObjectFieldSelector, pod: Pod, addresses: PodAddresses): string {
  const { apiVersion = 'v1', fieldPath } = selector;
  if (apiVersion !== 'v1') throw new Error(`unsupported pod version: ${apiVersion}`);
  const subscript = splitSubscript(fieldPath);
  if (subscript !== undefined) {
    const value = subscriptedMetadata(pod, fieldPath, subscript);
    if (value === undefined) throw new Error(`field label does not support subscript: ${fieldPath}`);
    return value;
  }
  const { spec } = pod;
  switch (fieldPath) {
    case 'spec.nodeName':
    case 'spec.host':
      return spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? '';
    case 'status.podIP':
      return addresses.podIps[0] ?? '';
    case 'status.podIPs':
      return addresses.podIps.join(',');
    case 'status.hostIP':
    case 'status.hostIPs': {
      const [primary] = addresses.hostIps;
      if (primary === undefined) throw new Error('host IP unknown; known addresses: []');
      return fieldPath === 'status.hostIP' ? primary : addresses.hostIps.join(',');
    }
    default: {
      const value = metadataFieldValue(pod, fieldPath);
      if (value !== undefined) return value;
      if (acceptedFields.has(fieldPath)) throw new Error(`unsupported fieldPath: ${fieldPath}`);
      throw new Error(`field label not supported: ${fieldPath}`);
    }
  }
}
