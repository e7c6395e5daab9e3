/** The fields in protobuf of configuration, services, nodes, events, leases and classes. */
export const coreFields = {
  ConfigMap: 'metadata=1:ObjectMeta data=2% binaryData=3%:bytes immutable=4:bool!',
  Secret: 'metadata=1:ObjectMeta data=2%:bytes type=3 stringData=4% immutable=5:bool!',
  Namespace: 'metadata=1:ObjectMeta spec=2:NamespaceSpec status=3:NamespaceStatus',
  NamespaceSpec: 'finalizers=1*',
  NamespaceStatus: 'phase=1 conditions=2*:NamespaceCondition',
  NamespaceCondition: 'type=1! status=2! lastTransitionTime=4:time reason=5 message=6',
  Service: 'metadata=1:ObjectMeta spec=2:ServiceSpec status=3:ServiceStatus',
  ServiceSpec: `
    ports=1*:ServicePort selector=2% clusterIP=3 type=4 externalIPs=5* sessionAffinity=7
    loadBalancerIP=8 loadBalancerSourceRanges=9* externalName=10 externalTrafficPolicy=11
    healthCheckNodePort=12:int publishNotReadyAddresses=13:bool
    sessionAffinityConfig=14:SessionAffinityConfig ipFamilyPolicy=17! clusterIPs=18* ipFamilies=19*
    allocateLoadBalancerNodePorts=20:bool! loadBalancerClass=21! internalTrafficPolicy=22!
    trafficDistribution=23!`,
  ServicePort: 'name=1 protocol=2 port=3:int! targetPort=4:port nodePort=5:int appProtocol=6!',
  SessionAffinityConfig: 'clientIP=1:ClientIPConfig',
  ClientIPConfig: 'timeoutSeconds=1:int!',
  ServiceStatus: 'loadBalancer=1:LoadBalancerStatus conditions=2*:Condition',
  LoadBalancerStatus: 'ingress=1*:LoadBalancerIngress',
  LoadBalancerIngress: 'ip=1 hostname=2 ipMode=3! ports=4*:PortStatus',
  PortStatus: 'port=1:int! protocol=2! error=3!',
  Condition: 'type=1! status=2! observedGeneration=3:int lastTransitionTime=4:time reason=5! message=6!',
  ServiceAccount: `
    metadata=1:ObjectMeta secrets=2*:ObjectReference imagePullSecrets=3*:LocalObjectReference
    automountServiceAccountToken=4:bool!`,
  Node: 'metadata=1:ObjectMeta spec=2:NodeSpec status=3:NodeStatus',
  NodeSpec: `
    podCIDR=1 externalID=2 providerID=3 unschedulable=4:bool taints=5*:Taint
    configSource=6:NodeConfigSource podCIDRs=7* podPreemptionPolicy=8:NodePodPreemptionPolicy`,
  Taint: 'key=1! value=2 effect=3! timeAdded=4:time',
  NodeConfigSource: 'configMap=2:ConfigMapNodeConfigSource',
  ConfigMapNodeConfigSource: 'namespace=1! name=2! uid=3 resourceVersion=4 kubeletConfigKey=5!',
  NodePodPreemptionPolicy: 'disableResizePreemption=1*',
  NodeStatus: `
    capacity=1%:quantity allocatable=2%:quantity phase=3 conditions=4*:NodeCondition
    addresses=5*:NodeAddress daemonEndpoints=6:NodeDaemonEndpoints nodeInfo=7:NodeSystemInfo
    images=8*:ContainerImage volumesInUse=9* volumesAttached=10*:AttachedVolume
    config=11:NodeConfigStatus runtimeHandlers=12*:NodeRuntimeHandler features=13:NodeFeatures
    declaredFeatures=14*`,
  NodeCondition: 'type=1! status=2! lastHeartbeatTime=3:time lastTransitionTime=4:time reason=5 message=6',
  NodeAddress: 'type=1! address=2!',
  NodeDaemonEndpoints: 'kubeletEndpoint=1:DaemonEndpoint',
  DaemonEndpoint: 'Port=1:int!',
  NodeSystemInfo: `
    machineID=1! systemUUID=2! bootID=3! kernelVersion=4! osImage=5! containerRuntimeVersion=6!
    kubeletVersion=7! kubeProxyVersion=8! operatingSystem=9! architecture=10! swap=11:NodeSwapStatus
    runningInUserNamespace=12:bool!`,
  NodeSwapStatus: 'capacity=1:int!',
  ContainerImage: 'names=1* sizeBytes=2:int',
  AttachedVolume: 'name=1! devicePath=2!',
  NodeConfigStatus: `
    assigned=1:NodeConfigSource active=2:NodeConfigSource lastKnownGood=3:NodeConfigSource error=4`,
  NodeRuntimeHandler: 'name=1! features=2:NodeRuntimeHandlerFeatures',
  NodeRuntimeHandlerFeatures: 'recursiveReadOnlyMounts=1:bool! userNamespaces=2:bool!',
  NodeFeatures: 'supplementalGroupsPolicy=1:bool!',
  Event: `
    metadata=1:ObjectMeta involvedObject=2:ObjectReference reason=3 message=4 source=5:EventSource
    firstTimestamp=6:time lastTimestamp=7:time count=8:int type=9 eventTime=10:microTime
    series=11:EventSeries action=12 related=13:ObjectReference reportingComponent=14!
    reportingInstance=15!`,
  EventSource: 'component=1 host=2',
  EventSeries: 'count=1:int lastObservedTime=2:microTime',
  Binding: 'metadata=1:ObjectMeta target=2:ObjectReference',
  EndpointSlice: 'metadata=1:ObjectMeta endpoints=2*:Endpoint ports=3*:EndpointPort addressType=4!',
  Endpoint: `
    addresses=1* conditions=2:EndpointConditions hostname=3! targetRef=4:ObjectReference
    deprecatedTopology=5% nodeName=6! zone=7! hints=8:EndpointHints`,
  EndpointConditions: 'ready=1:bool! serving=2:bool! terminating=3:bool!',
  EndpointHints: 'forZones=1*:ForZone forNodes=2*:ForNode',
  ForZone: 'name=1!',
  ForNode: 'name=1!',
  EndpointPort: 'name=1! protocol=2! port=3:int! appProtocol=4!',
  Endpoints: 'metadata=1:ObjectMeta subsets=2*:EndpointSubset',
  EndpointSubset: `
    addresses=1*:EndpointAddress notReadyAddresses=2*:EndpointAddress ports=3*:EndpointSubsetPort`,
  EndpointAddress: 'ip=1! targetRef=2:ObjectReference hostname=3 nodeName=4!',
  EndpointSubsetPort: 'name=1 port=2:int! protocol=3 appProtocol=4!',
  Lease: 'metadata=1:ObjectMeta spec=2:LeaseSpec',
  LeaseSpec: `
    holderIdentity=1! leaseDurationSeconds=2:int! acquireTime=3:microTime renewTime=4:microTime
    leaseTransitions=5:int! strategy=6! preferredHolder=7!`,
  PriorityClass: `
    metadata=1:ObjectMeta value=2:int! globalDefault=3:bool description=4 preemptionPolicy=5!`,
  RuntimeClass: 'metadata=1:ObjectMeta handler=2! overhead=3:Overhead scheduling=4:Scheduling',
  Overhead: 'podFixed=1%:quantity',
  Scheduling: 'nodeSelector=1% tolerations=2*:Toleration',
} as const;
