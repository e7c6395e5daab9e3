/** The fields of a pod in protobuf, but for its containers, volumes and status. */
export const podFields = {
  Pod: 'metadata=1:ObjectMeta spec=2:PodSpec status=3:PodStatus',
  PodList: 'metadata=1:ListMeta items=2*:Pod',
  PodSpec: `
    volumes=1*:Volume containers=2*:Container restartPolicy=3 terminationGracePeriodSeconds=4:int!
    activeDeadlineSeconds=5:int! dnsPolicy=6 nodeSelector=7% serviceAccountName=8 serviceAccount=9
    nodeName=10 hostNetwork=11:bool hostPID=12:bool hostIPC=13:bool
    securityContext=14:PodSecurityContext imagePullSecrets=15*:LocalObjectReference hostname=16
    subdomain=17 affinity=18:Affinity schedulerName=19 initContainers=20*:Container
    automountServiceAccountToken=21:bool! tolerations=22*:Toleration hostAliases=23*:HostAlias
    priorityClassName=24 priority=25:int! dnsConfig=26:PodDNSConfig shareProcessNamespace=27:bool!
    readinessGates=28*:PodReadinessGate runtimeClassName=29! enableServiceLinks=30:bool!
    preemptionPolicy=31! overhead=32%:quantity topologySpreadConstraints=33*:TopologySpreadConstraint
    ephemeralContainers=34*:EphemeralContainer setHostnameAsFQDN=35:bool! os=36:PodOS hostUsers=37:bool!
    schedulingGates=38*:PodSchedulingGate resourceClaims=39*:PodResourceClaim
    resources=40:ResourceRequirements hostnameOverride=41! schedulingGroup=43:PodSchedulingGroup
    evictionResponders=44*:EvictionResponder`,
  PodSecurityContext: `
    seLinuxOptions=1:SELinuxOptions runAsUser=2:int! runAsNonRoot=3:bool! supplementalGroups=4*:int
    fsGroup=5:int! runAsGroup=6:int! sysctls=7*:Sysctl windowsOptions=8:WindowsSecurityContextOptions
    fsGroupChangePolicy=9! seccompProfile=10:SeccompProfile appArmorProfile=11:AppArmorProfile
    supplementalGroupsPolicy=12! seLinuxChangePolicy=13!`,
  Affinity: 'nodeAffinity=1:NodeAffinity podAffinity=2:PodAffinity podAntiAffinity=3:PodAffinity',
  Toleration: 'key=1 operator=2 value=3 effect=4 tolerationSeconds=5:int!',
  HostAlias: 'ip=1! hostnames=2*',
  PodDNSConfig: 'nameservers=1* searches=2* options=3*:PodDNSConfigOption',
  PodReadinessGate: 'conditionType=1!',
  TopologySpreadConstraint: `
    maxSkew=1:int! topologyKey=2! whenUnsatisfiable=3! labelSelector=4:LabelSelector minDomains=5:int!
    nodeAffinityPolicy=6! nodeTaintsPolicy=7! matchLabelKeys=8*`,
  PodOS: 'name=1!',
  PodSchedulingGate: 'name=1!',
  PodResourceClaim: 'name=1! resourceClaimName=3! resourceClaimTemplateName=4!',
  PodSchedulingGroup: 'podGroupName=1!',
  EvictionResponder: 'name=1! priority=2:int!',
  Sysctl: 'name=1! value=2!',
  NodeAffinity: `
    requiredDuringSchedulingIgnoredDuringExecution=1:NodeSelector
    preferredDuringSchedulingIgnoredDuringExecution=2*:PreferredSchedulingTerm`,
  PodAffinity: `
    requiredDuringSchedulingIgnoredDuringExecution=1*:PodAffinityTerm
    preferredDuringSchedulingIgnoredDuringExecution=2*:WeightedPodAffinityTerm`,
  PodDNSConfigOption: 'name=1 value=2!',
  NodeSelector: 'nodeSelectorTerms=1*:NodeSelectorTerm',
  PreferredSchedulingTerm: 'weight=1:int! preference=2:NodeSelectorTerm',
  PodAffinityTerm: `
    labelSelector=1:LabelSelector namespaces=2* topologyKey=3! namespaceSelector=4:LabelSelector
    matchLabelKeys=5* mismatchLabelKeys=6*`,
  WeightedPodAffinityTerm: 'weight=1:int! podAffinityTerm=2:PodAffinityTerm',
  NodeSelectorTerm: 'matchExpressions=1*:NodeSelectorRequirement matchFields=2*:NodeSelectorRequirement',
  NodeSelectorRequirement: 'key=1! operator=2! values=3*',
} as const;
