/** The node object that the agent registers and keeps up to date. */
import type { KubeList, ObjectMeta, ResourceList, Timestamp } from './meta.js';
import type { ConditionStatus } from './pod-status.js';

export interface Taint {
  key: string;
  value?: string;
  effect: string;
  timeAdded?: Timestamp;
}

export interface NodeSpec {
  podCIDR?: string;
  podCIDRs?: string[];
  providerID?: string;
  unschedulable?: boolean;
  taints?: Taint[];
  configSource?: unknown;
  externalID?: string;
}

export interface NodeCondition {
  type: string;
  status: ConditionStatus;
  lastHeartbeatTime?: Timestamp;
  lastTransitionTime?: Timestamp;
  reason?: string;
  message?: string;
}

export interface NodeAddress {
  type: string;
  address: string;
}

export interface NodeSwapStatus {
  capacity?: number;
}

export interface NodeSystemInfo {
  machineID: string;
  systemUUID: string;
  bootID: string;
  kernelVersion: string;
  osImage: string;
  containerRuntimeVersion: string;
  kubeletVersion: string;
  kubeProxyVersion: string;
  operatingSystem: string;
  architecture: string;
  swap?: NodeSwapStatus;
  runningInUserNamespace?: boolean;
}

export interface ContainerImage {
  names?: string[];
  sizeBytes?: number;
}

export interface AttachedVolume {
  name: string;
  devicePath: string;
}

export interface NodeRuntimeHandler {
  name?: string;
  features?: { recursiveReadOnlyMounts?: boolean; userNamespaces?: boolean };
}

export interface NodeStatus {
  capacity?: ResourceList;
  allocatable?: ResourceList;
  phase?: string;
  conditions?: NodeCondition[];
  addresses?: NodeAddress[];
  daemonEndpoints?: { kubeletEndpoint?: { Port: number } };
  nodeInfo?: NodeSystemInfo;
  images?: ContainerImage[];
  volumesInUse?: string[];
  volumesAttached?: AttachedVolume[];
  config?: unknown;
  runtimeHandlers?: NodeRuntimeHandler[];
  features?: { supplementalGroupsPolicy?: boolean };
  declaredFeatures?: string[];
}

export interface Node {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec?: NodeSpec;
  status?: NodeStatus;
}

export type NodeList = KubeList<Node>;

export interface RuntimeClass {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  handler: string;
  overhead?: { podFixed?: ResourceList };
  scheduling?: { nodeSelector?: Record<string, string>; tolerations?: unknown[] };
}

export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: Timestamp;
  renewTime?: Timestamp;
  leaseTransitions?: number;
}

export interface Lease {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec?: LeaseSpec;
}
