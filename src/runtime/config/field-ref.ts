/** The values of `fieldRef`: what a container may learn about its own pod. */
import { goQuote, isHostNetwork, type ObjectFieldSelector, orderPodIps, type Pod } from '../../kube/index.js';
import type { RuntimeSettings } from './settings.js';

export interface PodAddresses {
  /** At most one of each family, the node's primary family first. */
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
}

/** The pod's own addresses, or the host's for a pod on its network. */
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
const subscripted = /^([^[]+)\['(.*)'\]$/s;
const qualifiedName =
  /^(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

export function fieldRefValue(selector: ObjectFieldSelector, pod: Pod, addresses: PodAddresses): string {
  const { apiVersion = 'v1', fieldPath } = selector;
  if (apiVersion !== 'v1') throw new Error(`unsupported pod version: ${apiVersion}`);
  const subscript = subscripted.exec(fieldPath);
  if (subscript !== null) {
    const [, path = '', key = ''] = subscript;
    return subscriptedValue(pod, fieldPath, path, key);
  }
  const { metadata, spec } = pod;
  switch (fieldPath) {
    case 'metadata.name':
      return metadata.name ?? '';
    case 'metadata.namespace':
      return metadata.namespace ?? '';
    case 'metadata.uid':
      return metadata.uid ?? '';
    case 'metadata.labels':
      return formatMap(metadata.labels);
    case 'metadata.annotations':
      return formatMap(metadata.annotations);
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
    default:
      if (acceptedFields.has(fieldPath)) throw new Error(`unsupported fieldPath: ${fieldPath}`);
      throw new Error(`field label not supported: ${fieldPath}`);
  }
}

function subscriptedValue(pod: Pod, fieldPath: string, path: string, key: string): string {
  const isAnnotation = path === 'metadata.annotations';
  if (!isAnnotation && path !== 'metadata.labels') {
    throw new Error(`field label does not support subscript: ${fieldPath}`);
  }
  // Keys of annotations may have capitals in their prefix.
  if (!qualifiedName.test(isAnnotation ? key.toLowerCase() : key)) {
    throw new Error(
      `invalid key subscript in ${fieldPath}: name the key as it stands in ${path}, for example ['app.kubernetes.io/name']`,
    );
  }
  const map = isAnnotation ? pod.metadata.annotations : pod.metadata.labels;
  return map !== undefined && Object.hasOwn(map, key) ? (map[key] ?? '') : '';
}

/** `key="value"` lines, sorted by key, without a newline at the end. */
export function formatMap(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .join('\n');
}
