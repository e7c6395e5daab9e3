/** Objects that make pods, and what belongs to Services: the kinds that controllers work on. */
import type { IntOrString, LabelSelector, ObjectMeta, ObjectReference, Timestamp } from './meta.js';
import type { PersistentVolumeClaim } from './persistent-volume.js';
import type { PodSpec } from './pod.js';

export interface PodTemplateSpec {
  metadata?: ObjectMeta;
  spec: PodSpec;
}

export interface WorkloadCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastProbeTime?: Timestamp;
  lastUpdateTime?: Timestamp;
  lastTransitionTime?: Timestamp;
}

export interface RollingUpdateDeployment {
  maxUnavailable?: IntOrString;
  maxSurge?: IntOrString;
}

export interface Deployment {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: {
    replicas?: number;
    selector: LabelSelector;
    template: PodTemplateSpec;
    strategy?: { type?: 'Recreate' | 'RollingUpdate'; rollingUpdate?: RollingUpdateDeployment };
    minReadySeconds?: number;
    revisionHistoryLimit?: number;
    paused?: boolean;
    progressDeadlineSeconds?: number;
  };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    unavailableReplicas?: number;
    terminatingReplicas?: number;
    collisionCount?: number;
    conditions?: WorkloadCondition[];
  };
}

export interface ReplicaSet {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: {
    replicas?: number;
    minReadySeconds?: number;
    selector: LabelSelector;
    template?: PodTemplateSpec;
  };
  status?: {
    replicas: number;
    fullyLabeledReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    terminatingReplicas?: number;
    observedGeneration?: number;
    conditions?: WorkloadCondition[];
  };
}

export interface StatefulSet {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: {
    replicas?: number;
    selector: LabelSelector;
    template: PodTemplateSpec;
    volumeClaimTemplates?: PersistentVolumeClaim[];
    serviceName?: string;
    podManagementPolicy?: 'OrderedReady' | 'Parallel';
    updateStrategy?: {
      type?: 'RollingUpdate' | 'OnDelete';
      rollingUpdate?: { partition?: number; maxUnavailable?: IntOrString };
    };
    revisionHistoryLimit?: number;
    minReadySeconds?: number;
    persistentVolumeClaimRetentionPolicy?: {
      whenDeleted?: 'Retain' | 'Delete';
      whenScaled?: 'Retain' | 'Delete';
    };
    ordinals?: { start?: number };
  };
  status?: {
    observedGeneration?: number;
    replicas: number;
    readyReplicas?: number;
    currentReplicas?: number;
    updatedReplicas?: number;
    currentRevision?: string;
    updateRevision?: string;
    collisionCount?: number;
    conditions?: WorkloadCondition[];
    availableReplicas?: number;
  };
}

export interface DaemonSet {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: {
    selector: LabelSelector;
    template: PodTemplateSpec;
    updateStrategy?: { type?: 'RollingUpdate' | 'OnDelete'; rollingUpdate?: RollingUpdateDeployment };
    minReadySeconds?: number;
    revisionHistoryLimit?: number;
  };
  status?: {
    currentNumberScheduled: number;
    numberMisscheduled: number;
    desiredNumberScheduled: number;
    numberReady: number;
    observedGeneration?: number;
    updatedNumberScheduled?: number;
    numberAvailable?: number;
    numberUnavailable?: number;
    collisionCount?: number;
    conditions?: WorkloadCondition[];
  };
}

/** A revision of a StatefulSet's or DaemonSet's template. */
export interface ControllerRevision {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  data?: unknown;
  revision: number;
}

export interface PodFailurePolicyRule {
  action: 'FailJob' | 'FailIndex' | 'Ignore' | 'Count';
  onExitCodes?: { containerName?: string; operator: 'In' | 'NotIn'; values?: number[] };
  onPodConditions?: { type: string; status?: string }[];
}

export interface JobSpec {
  parallelism?: number;
  completions?: number;
  activeDeadlineSeconds?: number;
  podFailurePolicy?: { rules: PodFailurePolicyRule[] };
  successPolicy?: { rules: { succeededIndexes?: string; succeededCount?: number }[] };
  backoffLimit?: number;
  backoffLimitPerIndex?: number;
  maxFailedIndexes?: number;
  selector?: LabelSelector;
  manualSelector?: boolean;
  template: PodTemplateSpec;
  ttlSecondsAfterFinished?: number;
  completionMode?: 'NonIndexed' | 'Indexed';
  suspend?: boolean;
  podReplacementPolicy?: 'TerminatingOrFailed' | 'Failed';
  managedBy?: string;
}

export interface Job {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: JobSpec;
  status?: {
    conditions?: WorkloadCondition[];
    startTime?: Timestamp;
    completionTime?: Timestamp;
    active?: number;
    succeeded?: number;
    failed?: number;
    terminating?: number;
    completedIndexes?: string;
    failedIndexes?: string;
    uncountedTerminatedPods?: { succeeded?: string[]; failed?: string[] };
    ready?: number;
  };
}

export interface CronJob {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: {
    schedule: string;
    timeZone?: string;
    startingDeadlineSeconds?: number;
    concurrencyPolicy?: 'Allow' | 'Forbid' | 'Replace';
    suspend?: boolean;
    jobTemplate: { metadata?: ObjectMeta; spec: JobSpec };
    successfulJobsHistoryLimit?: number;
    failedJobsHistoryLimit?: number;
  };
  status?: {
    active?: ObjectReference[];
    lastScheduleTime?: Timestamp;
    lastSuccessfulTime?: Timestamp;
  };
}

export interface Endpoint {
  addresses: string[];
  conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean };
  hostname?: string;
  targetRef?: ObjectReference;
  nodeName?: string;
  zone?: string;
}

export interface EndpointPort {
  name?: string;
  protocol?: string;
  port?: number;
  appProtocol?: string;
}

export interface EndpointSlice {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  addressType: 'IPv4' | 'IPv6' | 'FQDN';
  endpoints: Endpoint[];
  ports?: EndpointPort[];
}

export interface EndpointAddress {
  ip: string;
  hostname?: string;
  nodeName?: string;
  targetRef?: ObjectReference;
}

export interface EndpointSubset {
  addresses?: EndpointAddress[];
  notReadyAddresses?: EndpointAddress[];
  ports?: (EndpointPort & { port: number })[];
}

/** What endpoint slices replaced; some programs still read it. */
export interface Endpoints {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  subsets?: EndpointSubset[];
}

export interface PriorityClass {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  value: number;
  globalDefault?: boolean;
  description?: string;
  preemptionPolicy?: string;
}

export interface StorageClass {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  provisioner: string;
  parameters?: Record<string, string>;
  reclaimPolicy?: string;
  mountOptions?: string[];
  allowVolumeExpansion?: boolean;
  volumeBindingMode?: string;
}
