/** The fields of containers, probes, hooks and security contexts. */
import type { Tables } from './fields.js';

export const containerTables = {
  PodSecurityContext: {
    seLinuxOptions: 'SELinuxOptions',
    windowsOptions: 'WindowsSecurityContextOptions',
    runAsUser: 'int64',
    runAsGroup: 'int64',
    runAsNonRoot: 'bool',
    supplementalGroups: '[]int64',
    supplementalGroupsPolicy: 'string',
    fsGroup: 'int64',
    fsGroupChangePolicy: 'string',
    sysctls: '[]Sysctl',
    seccompProfile: 'SeccompProfile',
    appArmorProfile: 'AppArmorProfile',
    seLinuxChangePolicy: 'string',
  },
  SecurityContext: {
    capabilities: 'Capabilities',
    privileged: 'bool',
    seLinuxOptions: 'SELinuxOptions',
    windowsOptions: 'WindowsSecurityContextOptions',
    runAsUser: 'int64',
    runAsGroup: 'int64',
    runAsNonRoot: 'bool',
    readOnlyRootFilesystem: 'bool',
    allowPrivilegeEscalation: 'bool',
    procMount: 'string',
    seccompProfile: 'SeccompProfile',
    appArmorProfile: 'AppArmorProfile',
  },
  SELinuxOptions: { user: 'string', role: 'string', type: 'string', level: 'string' },
  WindowsSecurityContextOptions: {
    gmsaCredentialSpecName: 'string',
    gmsaCredentialSpec: 'string',
    runAsUserName: 'string',
    hostProcess: 'bool',
  },
  SeccompProfile: { type: 'string!', localhostProfile: 'string' },
  AppArmorProfile: { type: 'string!', localhostProfile: 'string' },
  Capabilities: { add: '[]string', drop: '[]string' },
  Sysctl: { name: 'string!', value: 'string!' },
  Container: {
    name: 'string!',
    image: 'string',
    command: '[]string',
    args: '[]string',
    workingDir: 'string',
    ports: '[]ContainerPort',
    envFrom: '[]EnvFromSource',
    env: '[]EnvVar',
    resources: 'ResourceRequirements',
    resizePolicy: '[]ContainerResizePolicy',
    restartPolicy: 'string',
    restartPolicyRules: '[]ContainerRestartRule',
    volumeMounts: '[]VolumeMount',
    volumeDevices: '[]VolumeDevice',
    livenessProbe: 'Probe',
    readinessProbe: 'Probe',
    startupProbe: 'Probe',
    lifecycle: 'Lifecycle',
    terminationMessagePath: 'string',
    terminationMessagePolicy: 'string',
    imagePullPolicy: 'string',
    securityContext: 'SecurityContext',
    stdin: 'bool',
    stdinOnce: 'bool',
    tty: 'bool',
  },
  EphemeralContainer: {
    name: 'string!',
    image: 'string',
    command: '[]string',
    args: '[]string',
    workingDir: 'string',
    ports: '[]ContainerPort',
    envFrom: '[]EnvFromSource',
    env: '[]EnvVar',
    resources: 'ResourceRequirements',
    resizePolicy: '[]ContainerResizePolicy',
    restartPolicy: 'string',
    restartPolicyRules: '[]ContainerRestartRule',
    volumeMounts: '[]VolumeMount',
    volumeDevices: '[]VolumeDevice',
    livenessProbe: 'Probe',
    readinessProbe: 'Probe',
    startupProbe: 'Probe',
    lifecycle: 'Lifecycle',
    terminationMessagePath: 'string',
    terminationMessagePolicy: 'string',
    imagePullPolicy: 'string',
    securityContext: 'SecurityContext',
    stdin: 'bool',
    stdinOnce: 'bool',
    tty: 'bool',
    targetContainerName: 'string',
  },
  ContainerPort: {
    name: 'string',
    hostPort: 'int32',
    containerPort: 'int32!',
    protocol: 'string',
    hostIP: 'string',
  },
  EnvFromSource: { prefix: 'string', configMapRef: 'EnvFromReference', secretRef: 'EnvFromReference' },
  EnvFromReference: { name: 'string', optional: 'bool' },
  EnvVar: { name: 'string!', value: 'string', valueFrom: 'EnvVarSource' },
  EnvVarSource: {
    fieldRef: 'ObjectFieldSelector',
    resourceFieldRef: 'ResourceFieldSelector',
    configMapKeyRef: 'KeySelector',
    secretKeyRef: 'KeySelector',
    fileKeyRef: 'FileKeySelector',
  },
  ObjectFieldSelector: { apiVersion: 'string', fieldPath: 'string!' },
  ResourceFieldSelector: { containerName: 'string', resource: 'string!', divisor: 'quantity' },
  KeySelector: { name: 'string', key: 'string!', optional: 'bool' },
  FileKeySelector: { volumeName: 'string!', path: 'string!', key: 'string!', optional: 'bool' },
  ResourceRequirements: { limits: '{}quantity', requests: '{}quantity', claims: '[]ContainerResourceClaim' },
  ContainerResourceClaim: { name: 'string!', request: 'string' },
  ContainerResizePolicy: { resourceName: 'string!', restartPolicy: 'string!' },
  ContainerRestartRule: { action: 'string!', exitCodes: 'ContainerRestartRuleOnExitCodes' },
  ContainerRestartRuleOnExitCodes: { operator: 'string!', values: '[]int32' },
  VolumeMount: {
    name: 'string!',
    mountPath: 'string!',
    readOnly: 'bool',
    recursiveReadOnly: 'string',
    subPath: 'string',
    subPathExpr: 'string',
    mountPropagation: 'string',
    bindMountOptions: '[]string',
  },
  VolumeDevice: { name: 'string!', devicePath: 'string!' },
  Probe: {
    exec: 'ExecAction',
    httpGet: 'HTTPGetAction',
    tcpSocket: 'TCPSocketAction',
    grpc: 'GRPCAction',
    initialDelaySeconds: 'int32',
    timeoutSeconds: 'int32',
    periodSeconds: 'int32',
    successThreshold: 'int32',
    failureThreshold: 'int32',
    terminationGracePeriodSeconds: 'int64',
  },
  ExecAction: { command: '[]string' },
  HTTPGetAction: {
    path: 'string',
    port: 'intOrString!',
    host: 'string',
    scheme: 'string',
    httpHeaders: '[]HTTPHeader',
    protocol: 'string',
  },
  HTTPHeader: { name: 'string!', value: 'string!' },
  TCPSocketAction: { port: 'intOrString!', host: 'string' },
  GRPCAction: { port: 'int32!', service: 'string', mode: 'string' },
  SleepAction: { seconds: 'int64!' },
  Lifecycle: { postStart: 'LifecycleHandler', preStop: 'LifecycleHandler', stopSignal: 'string' },
  LifecycleHandler: {
    exec: 'ExecAction',
    httpGet: 'HTTPGetAction',
    tcpSocket: 'TCPSocketAction',
    sleep: 'SleepAction',
  },
} as const satisfies Tables<
  | 'PodSecurityContext'
  | 'SecurityContext'
  | 'SELinuxOptions'
  | 'WindowsSecurityContextOptions'
  | 'SeccompProfile'
  | 'AppArmorProfile'
  | 'Capabilities'
  | 'Sysctl'
  | 'Container'
  | 'EphemeralContainer'
  | 'ContainerPort'
  | 'EnvFromSource'
  | 'EnvFromReference'
  | 'EnvVar'
  | 'EnvVarSource'
  | 'ObjectFieldSelector'
  | 'ResourceFieldSelector'
  | 'KeySelector'
  | 'FileKeySelector'
  | 'ResourceRequirements'
  | 'ContainerResourceClaim'
  | 'ContainerResizePolicy'
  | 'ContainerRestartRule'
  | 'ContainerRestartRuleOnExitCodes'
  | 'VolumeMount'
  | 'VolumeDevice'
  | 'Probe'
  | 'ExecAction'
  | 'HTTPGetAction'
  | 'HTTPHeader'
  | 'TCPSocketAction'
  | 'GRPCAction'
  | 'SleepAction'
  | 'Lifecycle'
  | 'LifecycleHandler'
>;
