/** A pod's status, as reported by its node. */
import type { ResourceRequirements } from './container.js';
import type { ResourceList, Timestamp } from './meta.js';

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
export type ConditionStatus = 'True' | 'False' | 'Unknown';
export type PodQOSClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

export interface PodCondition {
  type: string;
  status: ConditionStatus;
  observedGeneration?: number;
  lastProbeTime?: Timestamp | null;
  lastTransitionTime?: Timestamp | null;
  reason?: string;
  message?: string;
}

export interface ContainerStateWaiting {
  reason?: string;
  message?: string;
}

export interface ContainerStateRunning {
  startedAt?: Timestamp | null;
}

export interface ContainerStateTerminated {
  exitCode: number;
  signal?: number;
  reason?: string;
  message?: string;
  startedAt?: Timestamp | null;
  finishedAt?: Timestamp | null;
  containerID?: string;
}

/** At most one member is set; none means waiting. */
export interface ContainerState {
  waiting?: ContainerStateWaiting;
  running?: ContainerStateRunning;
  terminated?: ContainerStateTerminated;
}

export interface VolumeMountStatus {
  name: string;
  mountPath: string;
  readOnly?: boolean;
  recursiveReadOnly?: string;
  volumeStatus?: { image?: { imageRef: string } };
}

export interface LinuxContainerUser {
  uid: number;
  gid: number;
  supplementalGroups?: number[];
}

export interface ContainerUser {
  linux?: LinuxContainerUser;
}

export interface ResourceHealth {
  resourceID: string;
  health?: string;
  message?: string;
}

export interface ResourceStatus {
  name: string;
  resources?: ResourceHealth[];
}

export interface ContainerStatus {
  name: string;
  state?: ContainerState;
  lastState?: ContainerState;
  ready: boolean;
  restartCount: number;
  image: string;
  imageID: string;
  containerID?: string;
  started?: boolean;
  allocatedResources?: ResourceList;
  resources?: ResourceRequirements;
  volumeMounts?: VolumeMountStatus[];
  user?: ContainerUser;
  allocatedResourcesStatus?: ResourceStatus[];
  stopSignal?: string;
}

export interface PodIP {
  ip: string;
}

export interface HostIP {
  ip: string;
}

export interface PodResourceClaimStatus {
  name: string;
  resourceClaimName?: string;
}

export interface ContainerExtendedResourceRequest {
  containerName: string;
  resourceName: string;
  requestName: string;
}

export interface PodExtendedResourceClaimStatus {
  requestMappings: ContainerExtendedResourceRequest[];
  resourceClaimName: string;
}

/** What a claim of devices takes of the node's own resources. */
export interface NodeAllocatableClaimStatus {
  resourceClaimName: string;
  /** Those that use the claim. */
  containers?: string[];
  /** What the devices themselves are. */
  mapping?: { name: string; quantity?: string }[];
  overhead?: { name: string; perPod?: string; perContainer?: string }[];
}

export interface VolumeHealthCondition {
  status: 'Degraded' | 'Inaccessible' | 'DataLoss';
  reason: string;
  message: string;
}

/** What the driver of a volume says of it. */
export interface PodVolumeHealth {
  /** The volume's name in the pod. */
  name: string;
  healthConditions?: VolumeHealthCondition[];
  lastTransitionTime?: Timestamp | null;
}

export interface PodStatus {
  observedGeneration?: number;
  phase?: PodPhase;
  conditions?: PodCondition[];
  message?: string;
  reason?: string;
  nominatedNodeName?: string;
  hostIP?: string;
  hostIPs?: HostIP[];
  podIP?: string;
  podIPs?: PodIP[];
  startTime?: Timestamp;
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
  ephemeralContainerStatuses?: ContainerStatus[];
  qosClass?: PodQOSClass;
  resize?: string;
  resourceClaimStatuses?: PodResourceClaimStatus[];
  extendedResourceClaimStatus?: PodExtendedResourceClaimStatus;
  nodeAllocatableResourceClaimStatuses?: NodeAllocatableClaimStatus[];
  allocatedResources?: ResourceList;
  resources?: ResourceRequirements;
  volumeHealth?: PodVolumeHealth[];
}
