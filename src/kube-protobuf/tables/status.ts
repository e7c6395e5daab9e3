/** The fields of a pod's status in protobuf. */
export const statusFields = {
  PodStatus: `
    phase=1 conditions=2*:PodCondition message=3 reason=4 hostIP=5 podIP=6 startTime=7:time
    containerStatuses=8*:ContainerStatus qosClass=9 initContainerStatuses=10*:ContainerStatus
    nominatedNodeName=11 podIPs=12*:PodIP ephemeralContainerStatuses=13*:ContainerStatus resize=14
    resourceClaimStatuses=15*:PodResourceClaimStatus hostIPs=16*:HostIP observedGeneration=17:int
    extendedResourceClaimStatus=18:PodExtendedResourceClaimStatus allocatedResources=19%:quantity
    resources=20:ResourceRequirements
    nodeAllocatableResourceClaimStatuses=21*:NodeAllocatableResourceClaimStatus
    volumeHealth=22*:PodVolumeHealth`,
  PodCondition: `
    type=1! status=2! lastProbeTime=3:time lastTransitionTime=4:time reason=5 message=6
    observedGeneration=7:int`,
  HostIP: 'ip=1!',
  PodIP: 'ip=1!',
  ContainerStatus: `
    name=1! state=2:ContainerState lastState=3:ContainerState ready=4:bool! restartCount=5:int! image=6!
    imageID=7! containerID=8 started=9:bool! allocatedResources=10%:quantity
    resources=11:ResourceRequirements volumeMounts=12*:VolumeMountStatus user=13:ContainerUser
    allocatedResourcesStatus=14*:ResourceStatus stopSignal=15!`,
  ContainerState: `
    waiting=1:ContainerStateWaiting running=2:ContainerStateRunning
    terminated=3:ContainerStateTerminated`,
  ContainerStateWaiting: 'reason=1 message=2',
  ContainerStateRunning: 'startedAt=1:time',
  ContainerStateTerminated: `
    exitCode=1:int! signal=2:int reason=3 message=4 startedAt=5:time finishedAt=6:time containerID=7`,
  VolumeMountStatus: 'name=1! mountPath=2! readOnly=3:bool recursiveReadOnly=4! volumeStatus=5:VolumeStatus',
  VolumeStatus: 'image=1:ImageVolumeStatus',
  ImageVolumeStatus: 'imageRef=1',
  ContainerUser: 'linux=1:LinuxContainerUser',
  LinuxContainerUser: 'uid=1:int! gid=2:int! supplementalGroups=3*:int',
  ResourceStatus: 'name=1! resources=2*:ResourceHealth',
  ResourceHealth: 'resourceID=1! health=2 message=6!',
  PodResourceClaimStatus: 'name=1! resourceClaimName=2!',
  PodExtendedResourceClaimStatus: 'requestMappings=1*:ContainerExtendedResourceRequest resourceClaimName=2!',
  ContainerExtendedResourceRequest: 'containerName=1! resourceName=2! requestName=3!',
  NodeAllocatableResourceClaimStatus: `
    resourceClaimName=1! containers=2* mapping=4*:NodeAllocatableMappedResources
    overhead=5*:NodeAllocatableOverheadResources`,
  NodeAllocatableMappedResources: 'name=1! quantity=2:quantity',
  NodeAllocatableOverheadResources: 'name=1! perPod=2:quantity perContainer=3:quantity',
  PodVolumeHealth: 'name=1! healthConditions=2*:VolumeHealthCondition lastTransitionTime=3:time',
  VolumeHealthCondition: 'status=1! reason=2! message=3',
} as const;
