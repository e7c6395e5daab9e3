/** The fields in protobuf of persistent volumes, storage classes and what CSI drivers write. */
export const storageFields = {
  PersistentVolume: 'metadata=1:ObjectMeta spec=2:PersistentVolumeSpec status=3:PersistentVolumeStatus',
  PersistentVolumeSpec: `
    capacity=1%:quantity persistentVolumeSource=2~:PersistentVolumeSource accessModes=3*
    claimRef=4:ObjectReference persistentVolumeReclaimPolicy=5 storageClassName=6 mountOptions=7*
    volumeMode=8! nodeAffinity=9:VolumeNodeAffinity volumeAttributesClassName=10!`,
  PersistentVolumeSource: `
    gcePersistentDisk=1:GCEPersistentDiskVolumeSource
    awsElasticBlockStore=2:AWSElasticBlockStoreVolumeSource hostPath=3:HostPathVolumeSource
    glusterfs=4:GlusterfsPersistentVolumeSource nfs=5:NFSVolumeSource rbd=6:RBDPersistentVolumeSource
    iscsi=7:ISCSIPersistentVolumeSource cinder=8:CinderPersistentVolumeSource
    cephfs=9:CephFSPersistentVolumeSource fc=10:FCVolumeSource flocker=11:FlockerVolumeSource
    flexVolume=12:FlexPersistentVolumeSource azureFile=13:AzureFilePersistentVolumeSource
    vsphereVolume=14:VsphereVirtualDiskVolumeSource quobyte=15:QuobyteVolumeSource
    azureDisk=16:AzureDiskVolumeSource photonPersistentDisk=17:PhotonPersistentDiskVolumeSource
    portworxVolume=18:PortworxVolumeSource scaleIO=19:ScaleIOPersistentVolumeSource
    local=20:LocalVolumeSource storageos=21:StorageOSPersistentVolumeSource
    csi=22:CSIPersistentVolumeSource`,
  GlusterfsPersistentVolumeSource: 'endpoints=1! path=2! readOnly=3:bool endpointsNamespace=4!',
  RBDPersistentVolumeSource: `
    monitors=1* image=2! fsType=3 pool=4 user=5 keyring=6 secretRef=7:SecretReference readOnly=8:bool`,
  SecretReference: 'name=1 namespace=2',
  ISCSIPersistentVolumeSource: `
    targetPortal=1! iqn=2! lun=3:int! iscsiInterface=4 fsType=5 readOnly=6:bool portals=7*
    chapAuthDiscovery=8:bool secretRef=10:SecretReference chapAuthSession=11:bool initiatorName=12!`,
  CinderPersistentVolumeSource: 'volumeID=1! fsType=2 readOnly=3:bool secretRef=4:SecretReference',
  CephFSPersistentVolumeSource: `
    monitors=1* path=2 user=3 secretFile=4 secretRef=5:SecretReference readOnly=6:bool`,
  FlexPersistentVolumeSource: 'driver=1! fsType=2 secretRef=3:SecretReference readOnly=4:bool options=5%',
  AzureFilePersistentVolumeSource: 'secretName=1! shareName=2! readOnly=3:bool secretNamespace=4!',
  ScaleIOPersistentVolumeSource: `
    gateway=1! system=2! secretRef=3:SecretReference sslEnabled=4:bool protectionDomain=5 storagePool=6
    storageMode=7 volumeName=8 fsType=9 readOnly=10:bool`,
  LocalVolumeSource: 'path=1! fsType=2!',
  StorageOSPersistentVolumeSource: `
    volumeName=1 volumeNamespace=2 fsType=3 readOnly=4:bool secretRef=5:ObjectReference`,
  CSIPersistentVolumeSource: `
    driver=1! volumeHandle=2! readOnly=3:bool fsType=4 volumeAttributes=5%
    controllerPublishSecretRef=6:SecretReference nodeStageSecretRef=7:SecretReference
    nodePublishSecretRef=8:SecretReference controllerExpandSecretRef=9:SecretReference
    nodeExpandSecretRef=10:SecretReference`,
  VolumeNodeAffinity: 'required=1:NodeSelector',
  PersistentVolumeStatus: 'phase=1 message=2 reason=3 lastPhaseTransitionTime=4:time',
  StorageClass: `
    metadata=1:ObjectMeta provisioner=2! parameters=3% reclaimPolicy=4! mountOptions=5*
    allowVolumeExpansion=6:bool! volumeBindingMode=7! allowedTopologies=8*:TopologySelectorTerm`,
  TopologySelectorTerm: 'matchLabelExpressions=1*:TopologySelectorLabelRequirement',
  TopologySelectorLabelRequirement: 'key=1! values=2*',
  CSIDriver: 'metadata=1:ObjectMeta spec=2:CSIDriverSpec',
  CSIDriverSpec: `
    attachRequired=1:bool! podInfoOnMount=2:bool! volumeLifecycleModes=3* storageCapacity=4:bool!
    fsGroupPolicy=5! tokenRequests=6*:CSITokenRequest requiresRepublish=7:bool! seLinuxMount=8:bool!
    nodeAllocatableUpdatePeriodSeconds=9:int! serviceAccountTokenInSecrets=10:bool!
    preventPodSchedulingIfMissing=11:bool!`,
  CSITokenRequest: 'audience=1! expirationSeconds=2:int!',
  CSINode: 'metadata=1:ObjectMeta spec=2:CSINodeSpec status=3:CSINodeStatus',
  CSINodeSpec: 'drivers=1*:CSINodeDriver',
  CSINodeDriver: 'name=1! nodeID=2! topologyKeys=3* allocatable=4:VolumeNodeResources',
  VolumeNodeResources: 'count=1:int!',
  CSINodeStatus: 'storageHealth=1*:StorageHealth',
  StorageHealth: 'name=1! healthConditions=2*:StorageHealthCondition',
  StorageHealthCondition: `
    status=1! reason=2! message=3 accessMode=4! volumeMode=5! lastTransitionTime=6:time`,
  VolumeAttachment: 'metadata=1:ObjectMeta spec=2:VolumeAttachmentSpec status=3:VolumeAttachmentStatus',
  VolumeAttachmentSpec: 'attacher=1! source=2:VolumeAttachmentSource nodeName=3!',
  VolumeAttachmentSource: 'persistentVolumeName=1! inlineVolumeSpec=2:PersistentVolumeSpec',
  VolumeAttachmentStatus: `
    attached=1:bool! attachmentMetadata=2% attachError=3:VolumeError detachError=4:VolumeError`,
  VolumeError: 'time=1:time message=2 errorCode=3:int!',
} as const;
