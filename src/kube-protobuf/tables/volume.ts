/** The fields of a pod's volumes in protobuf. */
export const volumeFields = {
  Volume: 'name=1! volumeSource=2~:VolumeSource',
  LocalObjectReference: 'name=1',
  VolumeSource: `
    hostPath=1:HostPathVolumeSource emptyDir=2:EmptyDirVolumeSource
    gcePersistentDisk=3:GCEPersistentDiskVolumeSource
    awsElasticBlockStore=4:AWSElasticBlockStoreVolumeSource gitRepo=5:GitRepoVolumeSource
    secret=6:SecretVolumeSource nfs=7:NFSVolumeSource iscsi=8:ISCSIVolumeSource
    glusterfs=9:GlusterfsVolumeSource persistentVolumeClaim=10:PersistentVolumeClaimVolumeSource
    rbd=11:RBDVolumeSource flexVolume=12:FlexVolumeSource cinder=13:CinderVolumeSource
    cephfs=14:CephFSVolumeSource flocker=15:FlockerVolumeSource downwardAPI=16:DownwardAPIVolumeSource
    fc=17:FCVolumeSource azureFile=18:AzureFileVolumeSource configMap=19:ConfigMapVolumeSource
    vsphereVolume=20:VsphereVirtualDiskVolumeSource quobyte=21:QuobyteVolumeSource
    azureDisk=22:AzureDiskVolumeSource photonPersistentDisk=23:PhotonPersistentDiskVolumeSource
    portworxVolume=24:PortworxVolumeSource scaleIO=25:ScaleIOVolumeSource
    projected=26:ProjectedVolumeSource storageos=27:StorageOSVolumeSource csi=28:CSIVolumeSource
    ephemeral=29:EphemeralVolumeSource image=30:ImageVolumeSource`,
  HostPathVolumeSource: 'path=1! type=2!',
  EmptyDirVolumeSource: 'medium=1 sizeLimit=2:quantity mode=3:int!',
  GCEPersistentDiskVolumeSource: 'pdName=1! fsType=2 partition=3:int readOnly=4:bool',
  AWSElasticBlockStoreVolumeSource: 'volumeID=1! fsType=2 partition=3:int readOnly=4:bool',
  GitRepoVolumeSource: 'repository=1! revision=2 directory=3',
  SecretVolumeSource: `
    secretName=1 items=2*:KeyToPath defaultMode=3:int! optional=4:bool! defaultUser=5:int!`,
  NFSVolumeSource: 'server=1! path=2! readOnly=3:bool',
  ISCSIVolumeSource: `
    targetPortal=1! iqn=2! lun=3:int! iscsiInterface=4 fsType=5 readOnly=6:bool portals=7*
    chapAuthDiscovery=8:bool secretRef=10:LocalObjectReference chapAuthSession=11:bool initiatorName=12!`,
  GlusterfsVolumeSource: 'endpoints=1! path=2! readOnly=3:bool',
  PersistentVolumeClaimVolumeSource: 'claimName=1! readOnly=2:bool',
  RBDVolumeSource: `
    monitors=1* image=2! fsType=3 pool=4 user=5 keyring=6 secretRef=7:LocalObjectReference
    readOnly=8:bool`,
  FlexVolumeSource: 'driver=1! fsType=2 secretRef=3:LocalObjectReference readOnly=4:bool options=5%',
  CinderVolumeSource: 'volumeID=1! fsType=2 readOnly=3:bool secretRef=4:LocalObjectReference',
  CephFSVolumeSource: `
    monitors=1* path=2 user=3 secretFile=4 secretRef=5:LocalObjectReference readOnly=6:bool`,
  FlockerVolumeSource: 'datasetName=1 datasetUUID=2',
  DownwardAPIVolumeSource: 'items=1*:DownwardAPIVolumeFile defaultMode=2:int! defaultUser=3:int!',
  FCVolumeSource: 'targetWWNs=1* lun=2:int! fsType=3 readOnly=4:bool wwids=5*',
  AzureFileVolumeSource: 'secretName=1! shareName=2! readOnly=3:bool',
  ConfigMapVolumeSource: `
    localObjectReference=1~:LocalObjectReference items=2*:KeyToPath defaultMode=3:int! optional=4:bool!
    defaultUser=5:int!`,
  VsphereVirtualDiskVolumeSource: 'volumePath=1! fsType=2 storagePolicyName=3 storagePolicyID=4',
  QuobyteVolumeSource: 'registry=1! volume=2! readOnly=3:bool user=4 group=5 tenant=6',
  AzureDiskVolumeSource: 'diskName=1! diskURI=2! cachingMode=3! fsType=4! readOnly=5:bool! kind=6!',
  PhotonPersistentDiskVolumeSource: 'pdID=1! fsType=2',
  PortworxVolumeSource: 'volumeID=1! fsType=2 readOnly=3:bool',
  ScaleIOVolumeSource: `
    gateway=1! system=2! secretRef=3:LocalObjectReference sslEnabled=4:bool protectionDomain=5
    storagePool=6 storageMode=7 volumeName=8 fsType=9 readOnly=10:bool`,
  ProjectedVolumeSource: 'sources=1*:VolumeProjection defaultMode=2:int! defaultUser=3:int!',
  StorageOSVolumeSource: `
    volumeName=1 volumeNamespace=2 fsType=3 readOnly=4:bool secretRef=5:LocalObjectReference`,
  CSIVolumeSource: `
    driver=1! readOnly=2:bool! fsType=3! volumeAttributes=4% nodePublishSecretRef=5:LocalObjectReference`,
  EphemeralVolumeSource: 'volumeClaimTemplate=1:PersistentVolumeClaimTemplate',
  ImageVolumeSource: 'reference=1 pullPolicy=2',
  KeyToPath: 'key=1! path=2! mode=3:int! user=4:int!',
  DownwardAPIVolumeFile: `
    path=1! fieldRef=2:ObjectFieldSelector resourceFieldRef=3:ResourceFieldSelector mode=4:int!
    user=5:int!`,
  VolumeProjection: `
    secret=1:SecretProjection downwardAPI=2:DownwardAPIProjection configMap=3:ConfigMapProjection
    serviceAccountToken=4:ServiceAccountTokenProjection
    clusterTrustBundle=5:ClusterTrustBundleProjection podCertificate=6:PodCertificateProjection`,
  PersistentVolumeClaimTemplate: 'metadata=1:ObjectMeta spec=2:PersistentVolumeClaimSpec',
  SecretProjection: 'localObjectReference=1~:LocalObjectReference items=2*:KeyToPath optional=4:bool!',
  DownwardAPIProjection: 'items=1*:DownwardAPIVolumeFile',
  ConfigMapProjection: 'localObjectReference=1~:LocalObjectReference items=2*:KeyToPath optional=4:bool!',
  ServiceAccountTokenProjection: 'audience=1 expirationSeconds=2:int! path=3! user=4:int!',
  ClusterTrustBundleProjection: `
    name=1! signerName=2! labelSelector=3:LabelSelector path=4! optional=5:bool! user=6:int!`,
  PodCertificateProjection: `
    signerName=1 keyType=2 maxExpirationSeconds=3:int! credentialBundlePath=4 keyPath=5
    certificateChainPath=6 userAnnotations=7% user=8:int!`,
  PersistentVolumeClaimSpec: `
    accessModes=1* resources=2:VolumeResourceRequirements volumeName=3 selector=4:LabelSelector
    storageClassName=5! volumeMode=6! dataSource=7:TypedLocalObjectReference
    dataSourceRef=8:TypedObjectReference volumeAttributesClassName=9!`,
  VolumeResourceRequirements: 'limits=1%:quantity requests=2%:quantity',
  TypedLocalObjectReference: 'apiGroup=1! kind=2! name=3!',
  TypedObjectReference: 'apiGroup=1! kind=2! name=3! namespace=4!',
} as const;
