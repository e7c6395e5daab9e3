/** Objects that only API clients use: reviews, token requests, certificate requests and the like. */
import type {
  KubeObject,
  LocalObjectReference,
  ObjectMeta,
  ObjectReference,
  Timestamp,
} from '../kube/types/index.js';

export interface UserInfo {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

export interface TokenReview extends KubeObject {
  spec: { token?: string; audiences?: string[] };
  status?: { authenticated?: boolean; user?: UserInfo; audiences?: string[]; error?: string };
}

export interface ResourceAttributes {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
}

export interface SubjectAccessReview extends KubeObject {
  spec: {
    resourceAttributes?: ResourceAttributes;
    nonResourceAttributes?: { path?: string; verb?: string };
    user?: string;
    groups?: string[];
    extra?: Record<string, string[]>;
    uid?: string;
  };
  status?: { allowed: boolean; denied?: boolean; reason?: string; evaluationError?: string };
}

export interface TokenRequest {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
  spec: {
    audiences?: string[];
    expirationSeconds?: number;
    boundObjectRef?: { kind?: string; apiVersion?: string; name?: string; uid?: string };
  };
  status?: { token: string; expirationTimestamp: Timestamp };
}

export interface Eviction {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  deleteOptions?: { gracePeriodSeconds?: number; preconditions?: { uid?: string; resourceVersion?: string } };
}

export interface PodBinding {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  target: ObjectReference;
}

export interface CertificateSigningRequestCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastUpdateTime?: Timestamp;
  lastTransitionTime?: Timestamp;
}

export interface CertificateSigningRequest extends KubeObject {
  spec: {
    /** PEM in base64. */
    request: string;
    signerName: string;
    expirationSeconds?: number;
    usages?: string[];
    username?: string;
    uid?: string;
    groups?: string[];
    extra?: Record<string, string[]>;
  };
  status?: {
    conditions?: CertificateSigningRequestCondition[];
    /** PEM in base64. */
    certificate?: string;
  };
}

export interface ClusterTrustBundle extends KubeObject {
  spec: { signerName?: string; trustBundle: string };
}

export interface PodCertificateRequest extends KubeObject {
  spec: {
    signerName: string;
    podName: string;
    podUID: string;
    serviceAccountName: string;
    serviceAccountUID: string;
    nodeName: string;
    nodeUID: string;
    maxExpirationSeconds?: number;
    /** DER in base64. */
    stubPKCS10Request: string;
    unverifiedUserAnnotations?: Record<string, string>;
  };
  status?: {
    /** At most one of Issued, Denied and Failed. */
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    /** PEM. */
    certificateChain?: string;
    notBefore?: Timestamp;
    beginRefreshAt?: Timestamp;
    notAfter?: Timestamp;
  };
}

export interface CsiNode extends KubeObject {
  spec: {
    drivers: {
      name: string;
      nodeID: string;
      topologyKeys?: string[];
      allocatable?: { count?: number };
    }[];
  };
  status?: {
    storageHealth?: {
      name: string;
      healthConditions: {
        status: 'StorageDegraded' | 'StorageUnreachable';
        reason: string;
        message: string;
        accessMode?: string;
        volumeMode?: 'Block' | 'Filesystem';
      }[];
    }[];
  };
}

export interface CsiDriver extends KubeObject {
  spec: {
    attachRequired?: boolean;
    podInfoOnMount?: boolean;
    volumeLifecycleModes?: string[];
    fsGroupPolicy?: string;
    tokenRequests?: { audience: string; expirationSeconds?: number }[];
    requiresRepublish?: boolean;
    seLinuxMount?: boolean;
    serviceAccountTokenInSecrets?: boolean;
    nodeAllocatableUpdatePeriodSeconds?: number;
  };
}

export interface VolumeAttachment extends KubeObject {
  spec: { attacher: string; nodeName: string; source: { persistentVolumeName?: string } };
  status?: {
    attached: boolean;
    attachmentMetadata?: Record<string, string>;
    attachError?: { message?: string; errorCode?: number };
  };
}

export interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: string; conditions?: NamespaceCondition[] };
}

export interface NamespaceCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: Timestamp;
}

export interface ServiceAccount extends KubeObject {
  secrets?: ObjectReference[];
  imagePullSecrets?: LocalObjectReference[];
  automountServiceAccountToken?: boolean;
}

/** A device that a claim was given. */
export interface AllocatedDevice {
  request: string;
  driver: string;
  pool: string;
  device: string;
  adminAccess?: boolean;
  shareID?: string;
  /** Operations of the node that the driver does not need; `*` for all. */
  skipNodeOperations?: string[];
}

export interface ResourceClaim extends KubeObject {
  spec?: { devices?: { requests?: { name: string }[] } };
  status?: {
    allocation?: { devices?: { results?: AllocatedDevice[] } };
    reservedFor?: { apiGroup?: string; resource: string; name: string; uid: string }[];
  };
}

export interface ResourceSlice extends KubeObject {
  spec: {
    driver: string;
    nodeName?: string;
    pool: { name: string; generation: number; resourceSliceCount: number };
    devices?: { name: string }[];
  };
}
