/** Persistent volumes and the claims through which pods use them. */
import type { ObjectMeta, ObjectReference, QuantityText, ResourceList, Timestamp } from './meta.js';
import type { NodeSelectorTerm } from './pod.js';
import type {
  AzureDiskVolumeSource,
  AzureFileVolumeSource,
  CloudDiskVolumeSource,
  CSIVolumeSource,
  FCVolumeSource,
  FlexVolumeSource,
  HostPathVolumeSource,
  ISCSIVolumeSource,
  NFSVolumeSource,
  PersistentVolumeClaimSpec,
} from './volume.js';

export interface LocalVolumeSource {
  path: string;
  fsType?: string;
}

/** A secret in a namespace of its own. */
export interface SecretReference {
  name?: string;
  namespace?: string;
}

export interface CSIPersistentVolumeSource extends Omit<CSIVolumeSource, 'nodePublishSecretRef'> {
  volumeHandle: string;
  nodePublishSecretRef?: SecretReference;
  nodeStageSecretRef?: SecretReference;
  nodeExpandSecretRef?: SecretReference;
}

export interface ISCSIPersistentVolumeSource extends Omit<ISCSIVolumeSource, 'secretRef'> {
  /** Without a namespace: in that of the pod. */
  secretRef?: SecretReference;
}

export interface FlexPersistentVolumeSource extends Omit<FlexVolumeSource, 'secretRef'> {
  /** Without a namespace: in that of the pod. */
  secretRef?: SecretReference;
}

export interface AzureFilePersistentVolumeSource extends AzureFileVolumeSource {
  /** Default: that of the claim. */
  secretNamespace?: string;
}

export interface VolumeNodeAffinity {
  required?: { nodeSelectorTerms: NodeSelectorTerm[] };
}

export interface PersistentVolumeSpec {
  capacity?: ResourceList;
  accessModes?: string[];
  claimRef?: ObjectReference;
  persistentVolumeReclaimPolicy?: string;
  storageClassName?: string;
  mountOptions?: string[];
  volumeMode?: string;
  nodeAffinity?: VolumeNodeAffinity;
  hostPath?: HostPathVolumeSource;
  nfs?: NFSVolumeSource;
  local?: LocalVolumeSource;
  csi?: CSIPersistentVolumeSource;
  iscsi?: ISCSIPersistentVolumeSource;
  fc?: FCVolumeSource;
  flexVolume?: FlexPersistentVolumeSource;
  awsElasticBlockStore?: CloudDiskVolumeSource;
  gcePersistentDisk?: CloudDiskVolumeSource;
  azureDisk?: AzureDiskVolumeSource;
  azureFile?: AzureFilePersistentVolumeSource;
  cinder?: CloudDiskVolumeSource;
  vsphereVolume?: CloudDiskVolumeSource;
  portworxVolume?: CloudDiskVolumeSource;
}

export interface PersistentVolume {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: PersistentVolumeSpec;
  status?: { phase?: string; message?: string; reason?: string };
}

export interface PersistentVolumeClaimCondition {
  type: string;
  status: string;
  lastProbeTime?: Timestamp;
  lastTransitionTime?: Timestamp;
  reason?: string;
  message?: string;
}

export interface PersistentVolumeClaimStatus {
  phase?: string;
  accessModes?: string[];
  capacity?: Record<string, QuantityText>;
  /** The size that an expansion works towards. */
  allocatedResources?: Record<string, QuantityText>;
  allocatedResourceStatuses?: Record<string, string>;
  conditions?: PersistentVolumeClaimCondition[];
}

export interface PersistentVolumeClaim {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: PersistentVolumeClaimSpec;
  status?: PersistentVolumeClaimStatus;
}
