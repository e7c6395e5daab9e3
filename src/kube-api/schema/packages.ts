/** The package of each type, after which OpenAPI documents name it. */
import { appsTables } from './tables/apps.js';
import { batchTables } from './tables/batch.js';
import { metaTables } from './tables/meta.js';
import { metricsTables } from './tables/metrics.js';

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';

const special: Readonly<Record<string, string>> = {
  OwnerReference: meta,
  LabelSelector: meta,
  LabelSelectorRequirement: meta,
  EndpointSlice: 'io.k8s.api.discovery.v1',
  Endpoint: 'io.k8s.api.discovery.v1',
  EndpointConditions: 'io.k8s.api.discovery.v1',
  EndpointHints: 'io.k8s.api.discovery.v1',
  ForNode: 'io.k8s.api.discovery.v1',
  ForZone: 'io.k8s.api.discovery.v1',
  DiscoveryEndpointPort: 'io.k8s.api.discovery.v1',
  Lease: 'io.k8s.api.coordination.v1',
  LeaseSpec: 'io.k8s.api.coordination.v1',
  RuntimeClass: 'io.k8s.api.node.v1',
  Overhead: 'io.k8s.api.node.v1',
  Scheduling: 'io.k8s.api.node.v1',
  PriorityClass: 'io.k8s.api.scheduling.v1',
  TopologyConstraint: 'io.k8s.api.scheduling.v1alpha3',
  StorageClass: 'io.k8s.api.storage.v1',
  CSINode: 'io.k8s.api.storage.v1',
  CSINodeSpec: 'io.k8s.api.storage.v1',
  CSINodeDriver: 'io.k8s.api.storage.v1',
  VolumeNodeResources: 'io.k8s.api.storage.v1',
  CSINodeStatus: 'io.k8s.api.storage.v1',
  StorageHealth: 'io.k8s.api.storage.v1',
  StorageHealthCondition: 'io.k8s.api.storage.v1',
  CSIDriver: 'io.k8s.api.storage.v1',
  CSIDriverSpec: 'io.k8s.api.storage.v1',
  TokenRequest: 'io.k8s.api.storage.v1',
  VolumeAttachment: 'io.k8s.api.storage.v1',
  VolumeAttachmentSpec: 'io.k8s.api.storage.v1',
  VolumeAttachmentSource: 'io.k8s.api.storage.v1',
  VolumeAttachmentStatus: 'io.k8s.api.storage.v1',
  VolumeError: 'io.k8s.api.storage.v1',
  Scale: 'io.k8s.api.autoscaling.v1',
  ScaleSpec: 'io.k8s.api.autoscaling.v1',
  ScaleStatus: 'io.k8s.api.autoscaling.v1',
};

/** As in `io.k8s.api.core.v1.Pod`. */
export function publishedName(type: string): string {
  // The tables hold two types of this name.
  const name = type === 'DiscoveryEndpointPort' ? 'EndpointPort' : type;
  return `${packageOf(type)}.${name}`;
}

function packageOf(type: string): string {
  const known = Object.hasOwn(special, type) ? special[type] : undefined;
  if (known !== undefined) return known;
  if (Object.hasOwn(metaTables, type)) return meta;
  if (Object.hasOwn(appsTables, type)) return 'io.k8s.api.apps.v1';
  if (Object.hasOwn(metricsTables, type)) return 'io.k8s.metrics.pkg.apis.metrics.v1beta1';
  if (type.startsWith('WorkloadPodGroup')) return 'io.k8s.api.scheduling.v1alpha3';
  return Object.hasOwn(batchTables, type) ? 'io.k8s.api.batch.v1' : 'io.k8s.api.core.v1';
}
