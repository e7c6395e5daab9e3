/** The fields of every kind of volume. */
import type { Tables } from './fields.js';

export const volumeTables = {
  Volume: {
    hostPath: 'HostPathVolumeSource',
    emptyDir: 'EmptyDirVolumeSource',
    secret: 'SecretVolumeSource',
    configMap: 'ConfigMapVolumeSource',
    downwardAPI: 'DownwardAPIVolumeSource',
    projected: 'ProjectedVolumeSource',
    persistentVolumeClaim: 'PersistentVolumeClaimVolumeSource',
    ephemeral: 'EphemeralVolumeSource',
    image: 'ImageVolumeSource',
    csi: 'CSIVolumeSource',
    nfs: 'NFSVolumeSource',
    iscsi: 'ISCSIVolumeSource',
    fc: 'FCVolumeSource',
    gitRepo: 'GitRepoVolumeSource',
    glusterfs: 'GlusterfsVolumeSource',
    azureFile: 'AzureFileVolumeSource',
    azureDisk: 'AzureDiskVolumeSource',
    rbd: 'RBDVolumeSource',
    cephfs: 'CephFSVolumeSource',
    flexVolume: 'FlexVolumeSource',
    scaleIO: 'ScaleIOVolumeSource',
    storageos: 'StorageOSVolumeSource',
    quobyte: 'QuobyteVolumeSource',
    awsElasticBlockStore: 'CloudDiskVolumeSource',
    gcePersistentDisk: 'CloudDiskVolumeSource',
    cinder: 'CloudDiskVolumeSource',
    flocker: 'CloudDiskVolumeSource',
    photonPersistentDisk: 'CloudDiskVolumeSource',
    portworxVolume: 'CloudDiskVolumeSource',
    vsphereVolume: 'CloudDiskVolumeSource',
    name: 'string!',
  },
  HostPathVolumeSource: { path: 'string!', type: 'string' },
  EmptyDirVolumeSource: { medium: 'string', sizeLimit: 'quantity', mode: 'int32' },
  KeyToPath: { key: 'string!', path: 'string!', mode: 'int32', user: 'int64' },
  SecretVolumeSource: {
    secretName: 'string',
    items: '[]KeyToPath',
    defaultMode: 'int32',
    defaultUser: 'int64',
    optional: 'bool',
  },
  ConfigMapVolumeSource: {
    name: 'string',
    items: '[]KeyToPath',
    defaultMode: 'int32',
    defaultUser: 'int64',
    optional: 'bool',
  },
  DownwardAPIVolumeSource: { items: '[]DownwardAPIVolumeFile', defaultMode: 'int32', defaultUser: 'int64' },
  DownwardAPIVolumeFile: {
    path: 'string!',
    fieldRef: 'ObjectFieldSelector',
    resourceFieldRef: 'ResourceFieldSelector',
    mode: 'int32',
    user: 'int64',
  },
  ProjectedVolumeSource: { sources: '[]VolumeProjection', defaultMode: 'int32', defaultUser: 'int64' },
  VolumeProjection: {
    secret: 'SecretProjection',
    downwardAPI: 'DownwardAPIProjection',
    configMap: 'ConfigMapProjection',
    serviceAccountToken: 'ServiceAccountTokenProjection',
    clusterTrustBundle: 'ClusterTrustBundleProjection',
    podCertificate: 'PodCertificateProjection',
  },
  SecretProjection: { name: 'string', items: '[]KeyToPath', optional: 'bool' },
  ConfigMapProjection: { name: 'string', items: '[]KeyToPath', optional: 'bool' },
  DownwardAPIProjection: { items: '[]DownwardAPIVolumeFile' },
  ServiceAccountTokenProjection: {
    audience: 'string',
    expirationSeconds: 'int64',
    path: 'string!',
    user: 'int64',
  },
  ClusterTrustBundleProjection: {
    name: 'string',
    signerName: 'string',
    labelSelector: 'LabelSelector',
    optional: 'bool',
    path: 'string!',
    user: 'int64',
  },
  PodCertificateProjection: {
    signerName: 'string!',
    keyType: 'string!',
    maxExpirationSeconds: 'int32',
    credentialBundlePath: 'string',
    keyPath: 'string',
    certificateChainPath: 'string',
    userAnnotations: '{}string',
    user: 'int64',
  },
  PersistentVolumeClaimVolumeSource: { claimName: 'string!', readOnly: 'bool' },
  EphemeralVolumeSource: { volumeClaimTemplate: 'PersistentVolumeClaimTemplate' },
  PersistentVolumeClaimTemplate: { metadata: 'ObjectMeta', spec: 'PersistentVolumeClaimSpec!' },
  PersistentVolumeClaimSpec: {
    accessModes: '[]string',
    selector: 'LabelSelector',
    resources: 'VolumeResourceRequirements',
    volumeName: 'string',
    storageClassName: 'string',
    volumeMode: 'string',
    dataSource: 'TypedObjectReference',
    dataSourceRef: 'TypedObjectReference',
    volumeAttributesClassName: 'string',
  },
  VolumeResourceRequirements: { limits: '{}quantity', requests: '{}quantity' },
  TypedObjectReference: { apiGroup: 'string', kind: 'string!', name: 'string!', namespace: 'string' },
  ImageVolumeSource: { reference: 'string', pullPolicy: 'string' },
  CSIVolumeSource: {
    driver: 'string!',
    readOnly: 'bool',
    fsType: 'string',
    volumeAttributes: '{}string',
    nodePublishSecretRef: 'LocalObjectReference',
  },
  NFSVolumeSource: { server: 'string!', path: 'string!', readOnly: 'bool' },
  ISCSIVolumeSource: {
    targetPortal: 'string!',
    iqn: 'string!',
    lun: 'int32!',
    iscsiInterface: 'string',
    fsType: 'string',
    readOnly: 'bool',
    portals: '[]string',
    chapAuthDiscovery: 'bool',
    chapAuthSession: 'bool',
    secretRef: 'LocalObjectReference',
    initiatorName: 'string',
  },
  FCVolumeSource: {
    targetWWNs: '[]string',
    lun: 'int32',
    fsType: 'string',
    readOnly: 'bool',
    wwids: '[]string',
  },
  GitRepoVolumeSource: { repository: 'string!', revision: 'string', directory: 'string' },
  GlusterfsVolumeSource: { endpoints: 'string!', path: 'string!', readOnly: 'bool' },
  AzureFileVolumeSource: { secretName: 'string!', shareName: 'string!', readOnly: 'bool' },
  AzureDiskVolumeSource: {
    diskName: 'string!',
    diskURI: 'string!',
    cachingMode: 'string',
    fsType: 'string',
    readOnly: 'bool',
    kind: 'string',
  },
  RBDVolumeSource: {
    monitors: '[]string!',
    image: 'string!',
    fsType: 'string',
    pool: 'string',
    user: 'string',
    keyring: 'string',
    secretRef: 'LocalObjectReference',
    readOnly: 'bool',
  },
  CephFSVolumeSource: {
    monitors: '[]string!',
    path: 'string',
    user: 'string',
    secretFile: 'string',
    secretRef: 'LocalObjectReference',
    readOnly: 'bool',
  },
  FlexVolumeSource: {
    driver: 'string!',
    fsType: 'string',
    secretRef: 'LocalObjectReference',
    readOnly: 'bool',
    options: '{}string',
  },
  ScaleIOVolumeSource: {
    gateway: 'string!',
    system: 'string!',
    secretRef: 'LocalObjectReference!',
    sslEnabled: 'bool',
    protectionDomain: 'string',
    storagePool: 'string',
    storageMode: 'string',
    volumeName: 'string',
    fsType: 'string',
    readOnly: 'bool',
  },
  StorageOSVolumeSource: {
    volumeName: 'string',
    volumeNamespace: 'string',
    fsType: 'string',
    readOnly: 'bool',
    secretRef: 'LocalObjectReference',
  },
  QuobyteVolumeSource: {
    registry: 'string!',
    volume: 'string!',
    readOnly: 'bool',
    user: 'string',
    group: 'string',
    tenant: 'string',
  },
  CloudDiskVolumeSource: {
    volumeID: 'string',
    pdName: 'string',
    volumePath: 'string',
    storagePolicyName: 'string',
    storagePolicyID: 'string',
    datasetName: 'string',
    datasetUUID: 'string',
    pdID: 'string',
    fsType: 'string',
    partition: 'int32',
    readOnly: 'bool',
    secretRef: 'LocalObjectReference',
  },
} as const satisfies Tables<
  | 'Volume'
  | 'HostPathVolumeSource'
  | 'EmptyDirVolumeSource'
  | 'KeyToPath'
  | 'SecretVolumeSource'
  | 'ConfigMapVolumeSource'
  | 'DownwardAPIVolumeSource'
  | 'DownwardAPIVolumeFile'
  | 'ProjectedVolumeSource'
  | 'VolumeProjection'
  | 'SecretProjection'
  | 'ConfigMapProjection'
  | 'DownwardAPIProjection'
  | 'ServiceAccountTokenProjection'
  | 'ClusterTrustBundleProjection'
  | 'PodCertificateProjection'
  | 'PersistentVolumeClaimVolumeSource'
  | 'EphemeralVolumeSource'
  | 'PersistentVolumeClaimTemplate'
  | 'PersistentVolumeClaimSpec'
  | 'VolumeResourceRequirements'
  | 'TypedObjectReference'
  | 'ImageVolumeSource'
  | 'CSIVolumeSource'
  | 'NFSVolumeSource'
  | 'ISCSIVolumeSource'
  | 'FCVolumeSource'
  | 'GitRepoVolumeSource'
  | 'GlusterfsVolumeSource'
  | 'AzureFileVolumeSource'
  | 'AzureDiskVolumeSource'
  | 'RBDVolumeSource'
  | 'CephFSVolumeSource'
  | 'FlexVolumeSource'
  | 'ScaleIOVolumeSource'
  | 'StorageOSVolumeSource'
  | 'QuobyteVolumeSource'
  | 'CloudDiskVolumeSource'
>;
