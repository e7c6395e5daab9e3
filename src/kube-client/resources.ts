/** The resources that a node reads and writes, with the types of their objects. */
import type {
  ConfigMap,
  ControllerRevision,
  CronJob,
  DaemonSet,
  Deployment,
  EndpointSlice,
  Endpoints,
  Event,
  Job,
  KubeObject,
  Lease,
  Node,
  ObjectMeta,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PriorityClass,
  ReplicaSet,
  RuntimeClass,
  Secret,
  Service,
  StatefulSet,
  StorageClass,
} from '../kube/types/index.js';
import type {
  CertificateSigningRequest,
  ClusterTrustBundle,
  CsiDriver,
  CsiNode,
  Eviction,
  Namespace,
  PodBinding,
  PodCertificateRequest,
  ResourceClaim,
  ResourceSlice,
  ServiceAccount,
  SubjectAccessReview,
  TokenRequest,
  TokenReview,
  VolumeAttachment,
} from './api-objects.js';

/** A kind's names on the wire; `T` is the type of its objects. */
export interface Resource<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never set: only ties the object type to the name. */
  readonly objects?: T;
}

/** A subresource to which something other than the object itself is posted. */
export interface PostedSubresource<In, Out> {
  readonly of: Resource;
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Never set, as above. */
  readonly bodies?: readonly [In, Out];
}

/** Subresources at which the object itself is read and written. */
export type ObjectSubresource =
  | 'status'
  | 'approval'
  | 'ephemeralcontainers'
  | 'resize'
  | 'scale'
  | 'finalize';

function core<T extends KubeObject>(kind: string, plural: string, namespaced: boolean): Resource<T> {
  return { group: '', version: 'v1', kind, plural, namespaced };
}

function grouped<T extends KubeObject>(
  group: string,
  kind: string,
  plural: string,
  namespaced: boolean,
  version = 'v1',
): Resource<T> {
  return { group, version, kind, plural, namespaced };
}

export const resources = {
  pods: core<Pod>('Pod', 'pods', true),
  nodes: core<Node>('Node', 'nodes', false),
  services: core<Service>('Service', 'services', true),
  endpoints: core<Endpoints>('Endpoints', 'endpoints', true),
  configMaps: core<ConfigMap>('ConfigMap', 'configmaps', true),
  secrets: core<Secret>('Secret', 'secrets', true),
  events: core<Event>('Event', 'events', true),
  namespaces: core<Namespace>('Namespace', 'namespaces', false),
  serviceAccounts: core<ServiceAccount>('ServiceAccount', 'serviceaccounts', true),
  persistentVolumes: core<PersistentVolume>('PersistentVolume', 'persistentvolumes', false),
  persistentVolumeClaims: core<PersistentVolumeClaim>(
    'PersistentVolumeClaim',
    'persistentvolumeclaims',
    true,
  ),
  leases: grouped<Lease>('coordination.k8s.io', 'Lease', 'leases', true),
  runtimeClasses: grouped<RuntimeClass>('node.k8s.io', 'RuntimeClass', 'runtimeclasses', false),
  certificateSigningRequests: grouped<CertificateSigningRequest>(
    'certificates.k8s.io',
    'CertificateSigningRequest',
    'certificatesigningrequests',
    false,
  ),
  clusterTrustBundles: grouped<ClusterTrustBundle>(
    'certificates.k8s.io',
    'ClusterTrustBundle',
    'clustertrustbundles',
    false,
    'v1beta1',
  ),
  podCertificateRequests: grouped<PodCertificateRequest>(
    'certificates.k8s.io',
    'PodCertificateRequest',
    'podcertificaterequests',
    true,
  ),
  csiNodes: grouped<CsiNode>('storage.k8s.io', 'CSINode', 'csinodes', false),
  csiDrivers: grouped<CsiDriver>('storage.k8s.io', 'CSIDriver', 'csidrivers', false),
  volumeAttachments: grouped<VolumeAttachment>(
    'storage.k8s.io',
    'VolumeAttachment',
    'volumeattachments',
    false,
  ),
  resourceClaims: grouped<ResourceClaim>('resource.k8s.io', 'ResourceClaim', 'resourceclaims', true),
  resourceSlices: grouped<ResourceSlice>('resource.k8s.io', 'ResourceSlice', 'resourceslices', false),
  deployments: grouped<Deployment>('apps', 'Deployment', 'deployments', true),
  replicaSets: grouped<ReplicaSet>('apps', 'ReplicaSet', 'replicasets', true),
  statefulSets: grouped<StatefulSet>('apps', 'StatefulSet', 'statefulsets', true),
  daemonSets: grouped<DaemonSet>('apps', 'DaemonSet', 'daemonsets', true),
  controllerRevisions: grouped<ControllerRevision>('apps', 'ControllerRevision', 'controllerrevisions', true),
  jobs: grouped<Job>('batch', 'Job', 'jobs', true),
  cronJobs: grouped<CronJob>('batch', 'CronJob', 'cronjobs', true),
  endpointSlices: grouped<EndpointSlice>('discovery.k8s.io', 'EndpointSlice', 'endpointslices', true),
  priorityClasses: grouped<PriorityClass>('scheduling.k8s.io', 'PriorityClass', 'priorityclasses', false),
  storageClasses: grouped<StorageClass>('storage.k8s.io', 'StorageClass', 'storageclasses', false),
  tokenReviews: grouped<TokenReview>('authentication.k8s.io', 'TokenReview', 'tokenreviews', false),
  subjectAccessReviews: grouped<SubjectAccessReview>(
    'authorization.k8s.io',
    'SubjectAccessReview',
    'subjectaccessreviews',
    false,
  ),
} as const;

/** The API's response to a request with nothing to return. */
export interface PostedStatus {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
  status?: string;
}

interface Subresources {
  readonly token: PostedSubresource<TokenRequest, TokenRequest>;
  readonly eviction: PostedSubresource<Eviction, PostedStatus>;
  readonly binding: PostedSubresource<PodBinding, PostedStatus>;
}

export const subresources: Subresources = {
  token: {
    of: resources.serviceAccounts,
    name: 'token',
    group: 'authentication.k8s.io',
    version: 'v1',
    kind: 'TokenRequest',
  },
  eviction: {
    of: resources.pods,
    name: 'eviction',
    group: 'policy',
    version: 'v1',
    kind: 'Eviction',
  },
  binding: {
    of: resources.pods,
    name: 'binding',
    group: '',
    version: 'v1',
    kind: 'Binding',
  },
};

/** `v1` or `coordination.k8s.io/v1`. */
export function apiVersionOf({
  group,
  version,
}: {
  readonly group: string;
  readonly version: string;
}): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The form in messages: `pods`, `leases.coordination.k8s.io`. */
export function qualifiedPlural({ group, plural }: Resource): string {
  return group === '' ? plural : `${plural}.${group}`;
}
