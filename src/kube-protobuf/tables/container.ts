/** The fields of containers in protobuf. */
export const containerFields = {
  Container: `
    name=1! image=2 command=3* args=4* workingDir=5 ports=6*:ContainerPort env=7*:EnvVar
    resources=8:ResourceRequirements volumeMounts=9*:VolumeMount livenessProbe=10:Probe
    readinessProbe=11:Probe lifecycle=12:Lifecycle terminationMessagePath=13 imagePullPolicy=14
    securityContext=15:SecurityContext stdin=16:bool stdinOnce=17:bool tty=18:bool
    envFrom=19*:EnvFromSource terminationMessagePolicy=20 volumeDevices=21*:VolumeDevice
    startupProbe=22:Probe resizePolicy=23*:ContainerResizePolicy restartPolicy=24!
    restartPolicyRules=25*:ContainerRestartRule`,
  EphemeralContainer: 'ephemeralContainerCommon=1~:Container targetContainerName=2',
  ContainerPort: 'name=1 hostPort=2:int containerPort=3:int! protocol=4 hostIP=5',
  EnvVar: 'name=1! value=2 valueFrom=3:EnvVarSource',
  EnvVarSource: `
    fieldRef=1:ObjectFieldSelector resourceFieldRef=2:ResourceFieldSelector
    configMapKeyRef=3:ConfigMapKeySelector secretKeyRef=4:SecretKeySelector fileKeyRef=5:FileKeySelector`,
  EnvFromSource: 'prefix=1 configMapRef=2:ConfigMapEnvSource secretRef=3:SecretEnvSource',
  ConfigMapEnvSource: 'localObjectReference=1~:LocalObjectReference optional=2:bool!',
  SecretEnvSource: 'localObjectReference=1~:LocalObjectReference optional=2:bool!',
  ConfigMapKeySelector: 'localObjectReference=1~:LocalObjectReference key=2! optional=3:bool!',
  SecretKeySelector: 'localObjectReference=1~:LocalObjectReference key=2! optional=3:bool!',
  FileKeySelector: 'volumeName=1! path=2! key=3! optional=4:bool!',
  ObjectFieldSelector: 'apiVersion=1 fieldPath=2!',
  ResourceFieldSelector: 'containerName=1 resource=2! divisor=3:quantity',
  VolumeMount: `
    name=1! readOnly=2:bool mountPath=3! subPath=4 mountPropagation=5! subPathExpr=6
    recursiveReadOnly=7! bindMountOptions=8*`,
  VolumeDevice: 'name=1! devicePath=2!',
  ResourceRequirements: 'limits=1%:quantity requests=2%:quantity claims=3*:ResourceClaim',
  ResourceClaim: 'name=1! request=2',
  ContainerResizePolicy: 'resourceName=1! restartPolicy=2!',
  ContainerRestartRule: 'action=1 exitCodes=2:ContainerRestartRuleOnExitCodes',
  ContainerRestartRuleOnExitCodes: 'operator=1 values=2*:int',
  Probe: `
    handler=1~:ProbeHandler initialDelaySeconds=2:int timeoutSeconds=3:int periodSeconds=4:int
    successThreshold=5:int failureThreshold=6:int terminationGracePeriodSeconds=7:int!`,
  ProbeHandler: 'exec=1:ExecAction httpGet=2:HTTPGetAction tcpSocket=3:TCPSocketAction grpc=4:GRPCAction',
  Lifecycle: 'postStart=1:LifecycleHandler preStop=2:LifecycleHandler stopSignal=3!',
  LifecycleHandler: `
    exec=1:ExecAction httpGet=2:HTTPGetAction tcpSocket=3:TCPSocketAction sleep=4:SleepAction`,
  ExecAction: 'command=1*',
  HTTPGetAction: 'path=1 port=2:port host=3 scheme=4 httpHeaders=5*:HTTPHeader protocol=6!',
  HTTPHeader: 'name=1! value=2!',
  TCPSocketAction: 'port=1:port host=2',
  GRPCAction: 'port=1:int! service=2! mode=3!',
  SleepAction: 'seconds=1:int!',
  SecurityContext: `
    capabilities=1:Capabilities privileged=2:bool! seLinuxOptions=3:SELinuxOptions runAsUser=4:int!
    runAsNonRoot=5:bool! readOnlyRootFilesystem=6:bool! allowPrivilegeEscalation=7:bool!
    runAsGroup=8:int! procMount=9! windowsOptions=10:WindowsSecurityContextOptions
    seccompProfile=11:SeccompProfile appArmorProfile=12:AppArmorProfile`,
  Capabilities: 'add=1* drop=2*',
  SELinuxOptions: 'user=1 role=2 type=3 level=4',
  SeccompProfile: 'type=1! localhostProfile=2!',
  AppArmorProfile: 'type=1! localhostProfile=2!',
  WindowsSecurityContextOptions: `
    gmsaCredentialSpecName=1! gmsaCredentialSpec=2! runAsUserName=3! hostProcess=4:bool!`,
} as const;
