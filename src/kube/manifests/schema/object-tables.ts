/** The fields of the objects besides pods that a node without an API server reads from manifests. */
import type { Tables } from './fields.js';

export const objectTables = {
  ConfigMap: {
    apiVersion: 'string',
    kind: 'string',
    metadata: 'ObjectMeta!',
    immutable: 'bool',
    data: '{}string',
    binaryData: '{}string',
  },
  Secret: {
    apiVersion: 'string',
    kind: 'string',
    metadata: 'ObjectMeta!',
    immutable: 'bool',
    data: '{}string',
    stringData: '{}string',
    type: 'string',
  },
  PersistentVolume: {
    apiVersion: 'string',
    kind: 'string',
    metadata: 'ObjectMeta!',
    spec: 'PersistentVolumeSpec!',
    status: 'any',
  },
  PersistentVolumeSpec: {
    capacity: '{}quantity',
    accessModes: '[]string',
    claimRef: 'ObjectReference',
    persistentVolumeReclaimPolicy: 'string',
    storageClassName: 'string',
    mountOptions: '[]string',
    volumeMode: 'string',
    nodeAffinity: 'VolumeNodeAffinity',
    hostPath: 'HostPathVolumeSource',
    nfs: 'NFSVolumeSource',
    local: 'LocalVolumeSource',
    csi: 'CSIPersistentVolumeSource',
    iscsi: 'ISCSIPersistentVolumeSource',
    flexVolume: 'FlexPersistentVolumeSource',
    fc: 'FCVolumeSource',
    awsElasticBlockStore: 'CloudDiskVolumeSource',
    gcePersistentDisk: 'CloudDiskVolumeSource',
    azureDisk: 'AzureDiskVolumeSource',
    azureFile: 'AzureFilePersistentVolumeSource',
    cinder: 'CloudDiskVolumeSource',
    vsphereVolume: 'CloudDiskVolumeSource',
    portworxVolume: 'CloudDiskVolumeSource',
  },
  FlexPersistentVolumeSource: {
    driver: 'string!',
    fsType: 'string',
    secretRef: 'SecretReference',
    readOnly: 'bool',
    options: '{}string',
  },
  ISCSIPersistentVolumeSource: {
    targetPortal: 'string!',
    iqn: 'string!',
    lun: 'int32!',
    iscsiInterface: 'string',
    fsType: 'string',
    readOnly: 'bool',
    portals: '[]string',
    chapAuthDiscovery: 'bool',
    chapAuthSession: 'bool',
    secretRef: 'SecretReference',
    initiatorName: 'string',
  },
  AzureFilePersistentVolumeSource: {
    secretName: 'string!',
    secretNamespace: 'string',
    shareName: 'string!',
    readOnly: 'bool',
  },
  VolumeNodeAffinity: { required: 'NodeSelector' },
  LocalVolumeSource: { path: 'string!', fsType: 'string' },
  CSIPersistentVolumeSource: {
    driver: 'string!',
    volumeHandle: 'string!',
    readOnly: 'bool',
    fsType: 'string',
    volumeAttributes: '{}string',
    nodePublishSecretRef: 'SecretReference',
    nodeStageSecretRef: 'SecretReference',
    nodeExpandSecretRef: 'SecretReference',
  },
  SecretReference: { name: 'string', namespace: 'string' },
  ObjectReference: {
    apiVersion: 'string',
    kind: 'string',
    namespace: 'string',
    name: 'string',
    uid: 'string',
    resourceVersion: 'string',
    fieldPath: 'string',
  },
  PersistentVolumeClaim: {
    apiVersion: 'string',
    kind: 'string',
    metadata: 'ObjectMeta!',
    spec: 'PersistentVolumeClaimSpec!',
    status: 'PersistentVolumeClaimStatus',
  },
  PersistentVolumeClaimStatus: {
    phase: 'string',
    accessModes: '[]string',
    capacity: '{}quantity',
    allocatedResources: '{}quantity',
    allocatedResourceStatuses: '{}string',
    conditions: '[]PersistentVolumeClaimCondition',
  },
  PersistentVolumeClaimCondition: {
    type: 'string!',
    status: 'string!',
    lastProbeTime: 'string',
    lastTransitionTime: 'string',
    reason: 'string',
    message: 'string',
  },
} as const satisfies Tables<
  | 'ConfigMap'
  | 'Secret'
  | 'PersistentVolume'
  | 'PersistentVolumeSpec'
  | 'VolumeNodeAffinity'
  | 'LocalVolumeSource'
  | 'CSIPersistentVolumeSource'
  | 'FlexPersistentVolumeSource'
  | 'ISCSIPersistentVolumeSource'
  | 'AzureFilePersistentVolumeSource'
  | 'SecretReference'
  | 'ObjectReference'
  | 'PersistentVolumeClaim'
  | 'PersistentVolumeClaimStatus'
  | 'PersistentVolumeClaimCondition'
>;
