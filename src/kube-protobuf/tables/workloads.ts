/** The fields of workloads in protobuf: what makes pods, with its claims, and its scale. */
export const workloadFields = {
  Deployment: 'metadata=1:ObjectMeta spec=2:DeploymentSpec status=3:DeploymentStatus',
  DeploymentSpec: `
    replicas=1:int! selector=2:LabelSelector template=3:PodTemplateSpec strategy=4:DeploymentStrategy
    minReadySeconds=5:int revisionHistoryLimit=6:int! paused=7:bool progressDeadlineSeconds=9:int!`,
  PodTemplateSpec: 'metadata=1:ObjectMeta spec=2:PodSpec',
  DeploymentStrategy: 'type=1 rollingUpdate=2:RollingUpdateDeployment',
  RollingUpdateDeployment: 'maxUnavailable=1:port! maxSurge=2:port!',
  DeploymentStatus: `
    observedGeneration=1:int replicas=2:int updatedReplicas=3:int availableReplicas=4:int
    unavailableReplicas=5:int conditions=6*:DeploymentCondition readyReplicas=7:int
    collisionCount=8:int! terminatingReplicas=9:int!`,
  DeploymentCondition: `
    type=1! status=2! reason=4 message=5 lastUpdateTime=6:time lastTransitionTime=7:time`,
  ReplicaSet: 'metadata=1:ObjectMeta spec=2:ReplicaSetSpec status=3:ReplicaSetStatus',
  ReplicaSetSpec: `
    replicas=1:int! selector=2:LabelSelector template=3:PodTemplateSpec minReadySeconds=4:int`,
  ReplicaSetStatus: `
    replicas=1:int! fullyLabeledReplicas=2:int observedGeneration=3:int readyReplicas=4:int
    availableReplicas=5:int conditions=6*:ReplicaSetCondition terminatingReplicas=7:int!`,
  ReplicaSetCondition: 'type=1! status=2! lastTransitionTime=3:time reason=4 message=5',
  DaemonSet: 'metadata=1:ObjectMeta spec=2:DaemonSetSpec status=3:DaemonSetStatus',
  DaemonSetSpec: `
    selector=1:LabelSelector template=2:PodTemplateSpec updateStrategy=3:DaemonSetUpdateStrategy
    minReadySeconds=4:int revisionHistoryLimit=6:int!`,
  DaemonSetUpdateStrategy: 'type=1 rollingUpdate=2:RollingUpdateDaemonSet',
  RollingUpdateDaemonSet: 'maxUnavailable=1:port! maxSurge=2:port!',
  DaemonSetStatus: `
    currentNumberScheduled=1:int! numberMisscheduled=2:int! desiredNumberScheduled=3:int!
    numberReady=4:int! observedGeneration=5:int updatedNumberScheduled=6:int numberAvailable=7:int
    numberUnavailable=8:int collisionCount=9:int! conditions=10*:DaemonSetCondition`,
  DaemonSetCondition: 'type=1! status=2! lastTransitionTime=3:time reason=4 message=5',
  PersistentVolumeClaim: `
    metadata=1:ObjectMeta spec=2:PersistentVolumeClaimSpec status=3:PersistentVolumeClaimStatus`,
  PersistentVolumeClaimStatus: `
    phase=1 accessModes=2* capacity=3%:quantity conditions=4*:PersistentVolumeClaimCondition
    allocatedResources=5%:quantity allocatedResourceStatuses=7% currentVolumeAttributesClassName=8!
    modifyVolumeStatus=9:ModifyVolumeStatus healthStatus=10:VolumeHealthStatus`,
  PersistentVolumeClaimCondition: `
    type=1! status=2! lastProbeTime=3:time lastTransitionTime=4:time reason=5 message=6`,
  ModifyVolumeStatus: 'targetVolumeAttributesClassName=1 status=2!',
  VolumeHealthStatus: 'healthConditions=1*:VolumeHealthCondition lastTransitionTime=2:time',
  StatefulSet: 'metadata=1:ObjectMeta spec=2:StatefulSetSpec status=3:StatefulSetStatus',
  StatefulSetSpec: `
    replicas=1:int! selector=2:LabelSelector template=3:PodTemplateSpec
    volumeClaimTemplates=4*:PersistentVolumeClaim serviceName=5! podManagementPolicy=6
    updateStrategy=7:StatefulSetUpdateStrategy revisionHistoryLimit=8:int! minReadySeconds=9:int
    persistentVolumeClaimRetentionPolicy=10:StatefulSetPersistentVolumeClaimRetentionPolicy
    ordinals=11:StatefulSetOrdinals`,
  StatefulSetUpdateStrategy: 'type=1 rollingUpdate=2:RollingUpdateStatefulSetStrategy',
  RollingUpdateStatefulSetStrategy: 'partition=1:int! maxUnavailable=2:port!',
  StatefulSetPersistentVolumeClaimRetentionPolicy: 'whenDeleted=1 whenScaled=2',
  StatefulSetOrdinals: 'start=1:int!',
  StatefulSetStatus: `
    observedGeneration=1:int replicas=2:int! readyReplicas=3:int currentReplicas=4:int
    updatedReplicas=5:int currentRevision=6 updateRevision=7 collisionCount=9:int!
    conditions=10*:StatefulSetCondition availableReplicas=11:int!`,
  StatefulSetCondition: 'type=1! status=2! lastTransitionTime=3:time reason=4 message=5',
  ControllerRevision: 'metadata=1:ObjectMeta data=2:json revision=3:int!',
  Job: 'metadata=1:ObjectMeta spec=2:JobSpec status=3:JobStatus',
  JobSpec: `
    parallelism=1:int! completions=2:int! activeDeadlineSeconds=3:int! selector=4:LabelSelector
    manualSelector=5:bool! template=6:PodTemplateSpec backoffLimit=7:int! ttlSecondsAfterFinished=8:int!
    completionMode=9! suspend=10:bool! podFailurePolicy=11:PodFailurePolicy backoffLimitPerIndex=12:int!
    maxFailedIndexes=13:int! podReplacementPolicy=14! managedBy=15! successPolicy=16:SuccessPolicy
    scheduling=17:JobSchedulingConfiguration`,
  PodFailurePolicy: 'rules=1*:PodFailurePolicyRule',
  PodFailurePolicyRule: `
    action=1! onExitCodes=2:PodFailurePolicyOnExitCodesRequirement
    onPodConditions=3*:PodFailurePolicyOnPodConditionsPattern`,
  PodFailurePolicyOnExitCodesRequirement: 'containerName=1! operator=2! values=3*:int',
  PodFailurePolicyOnPodConditionsPattern: 'type=1! status=2!',
  SuccessPolicy: 'rules=1*:SuccessPolicyRule',
  SuccessPolicyRule: 'succeededIndexes=1! succeededCount=2:int!',
  JobSchedulingConfiguration: `
    schedulingPolicy=1:WorkloadPodGroupSchedulingPolicy
    schedulingConstraints=2:WorkloadPodGroupSchedulingConstraints
    disruptionMode=3:WorkloadPodGroupDisruptionMode resourceClaims=4*:WorkloadPodGroupResourceClaim`,
  WorkloadPodGroupSchedulingPolicy: `
    basic=1:WorkloadPodGroupBasicSchedulingPolicy gang=2:WorkloadPodGroupGangSchedulingPolicy`,
  WorkloadPodGroupBasicSchedulingPolicy: '',
  WorkloadPodGroupGangSchedulingPolicy: 'minCount=1:int!',
  WorkloadPodGroupSchedulingConstraints: 'topology=1*:TopologyConstraint',
  TopologyConstraint: 'key=1!',
  WorkloadPodGroupDisruptionMode: `
    single=1:WorkloadPodGroupSingleDisruptionMode all=2:WorkloadPodGroupAllDisruptionMode`,
  WorkloadPodGroupSingleDisruptionMode: '',
  WorkloadPodGroupAllDisruptionMode: '',
  WorkloadPodGroupResourceClaim: 'name=1! resourceClaimName=2! resourceClaimTemplateName=3!',
  JobStatus: `
    conditions=1*:JobCondition startTime=2:time completionTime=3:time active=4:int succeeded=5:int
    failed=6:int completedIndexes=7 uncountedTerminatedPods=8:UncountedTerminatedPods ready=9:int!
    failedIndexes=10! terminating=11:int!`,
  JobCondition: 'type=1! status=2! lastProbeTime=3:time lastTransitionTime=4:time reason=5 message=6',
  UncountedTerminatedPods: 'succeeded=1* failed=2*',
  CronJob: 'metadata=1:ObjectMeta spec=2:CronJobSpec status=3:CronJobStatus',
  CronJobSpec: `
    schedule=1! startingDeadlineSeconds=2:int! concurrencyPolicy=3 suspend=4:bool!
    jobTemplate=5:JobTemplateSpec successfulJobsHistoryLimit=6:int! failedJobsHistoryLimit=7:int!
    timeZone=8!`,
  JobTemplateSpec: 'metadata=1:ObjectMeta spec=2:JobSpec',
  CronJobStatus: 'active=1*:ObjectReference lastScheduleTime=4:time lastSuccessfulTime=5:time',
  ObjectReference: 'kind=1 namespace=2 name=3 uid=4 apiVersion=5 resourceVersion=6 fieldPath=7',
  Scale: 'metadata=1:ObjectMeta spec=2:ScaleSpec status=3:ScaleStatus',
  ScaleSpec: 'replicas=1:int',
  ScaleStatus: 'replicas=1:int! selector=2',
} as const;
