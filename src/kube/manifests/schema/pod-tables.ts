/** The fields of a pod, its metadata and its placement. */
import type { Tables } from './fields.js';

export const podTables = {
  Pod: { apiVersion: 'string', kind: 'string', metadata: 'ObjectMeta!', spec: 'PodSpec!', status: 'any' },
  ObjectMeta: {
    name: 'string',
    generateName: 'string',
    namespace: 'string',
    selfLink: 'string',
    uid: 'string',
    resourceVersion: 'string',
    generation: 'int64',
    creationTimestamp: 'time',
    deletionTimestamp: 'time',
    deletionGracePeriodSeconds: 'int64',
    labels: '{}string',
    annotations: '{}string',
    ownerReferences: '[]OwnerReference',
    finalizers: '[]string',
    managedFields: '[]any',
  },
  OwnerReference: {
    apiVersion: 'string!',
    kind: 'string!',
    name: 'string!',
    uid: 'string!',
    controller: 'bool',
    blockOwnerDeletion: 'bool',
  },
  LabelSelector: { matchLabels: '{}string', matchExpressions: '[]LabelSelectorRequirement' },
  LabelSelectorRequirement: { key: 'string!', operator: 'string!', values: '[]string' },
  LocalObjectReference: { name: 'string' },
  PodSpec: {
    volumes: '[]Volume',
    initContainers: '[]Container',
    containers: '[]Container!',
    ephemeralContainers: '[]EphemeralContainer',
    restartPolicy: 'string',
    terminationGracePeriodSeconds: 'int64',
    activeDeadlineSeconds: 'int64',
    dnsPolicy: 'string',
    nodeSelector: '{}string',
    serviceAccountName: 'string',
    serviceAccount: 'string',
    automountServiceAccountToken: 'bool',
    nodeName: 'string',
    hostNetwork: 'bool',
    hostPID: 'bool',
    hostIPC: 'bool',
    shareProcessNamespace: 'bool',
    securityContext: 'PodSecurityContext',
    imagePullSecrets: '[]LocalObjectReference',
    hostname: 'string',
    hostnameOverride: 'string',
    subdomain: 'string',
    affinity: 'Affinity',
    schedulerName: 'string',
    tolerations: '[]Toleration',
    hostAliases: '[]HostAlias',
    priorityClassName: 'string',
    priority: 'int32',
    dnsConfig: 'PodDNSConfig',
    readinessGates: '[]PodReadinessGate',
    runtimeClassName: 'string',
    enableServiceLinks: 'bool',
    preemptionPolicy: 'string',
    overhead: '{}quantity',
    topologySpreadConstraints: '[]TopologySpreadConstraint',
    setHostnameAsFQDN: 'bool',
    os: 'PodOS',
    hostUsers: 'bool',
    schedulingGates: '[]PodSchedulingGate',
    resourceClaims: '[]PodResourceClaim',
    resources: 'ResourceRequirements',
    workloadRef: 'WorkloadReference',
    schedulingGroup: 'PodSchedulingGroup',
  },
  PodOS: { name: 'string!' },
  Affinity: { nodeAffinity: 'NodeAffinity', podAffinity: 'PodAffinity', podAntiAffinity: 'PodAffinity' },
  NodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: 'NodeSelector',
    preferredDuringSchedulingIgnoredDuringExecution: '[]PreferredSchedulingTerm',
  },
  NodeSelector: { nodeSelectorTerms: '[]NodeSelectorTerm!' },
  NodeSelectorTerm: {
    matchExpressions: '[]NodeSelectorRequirement',
    matchFields: '[]NodeSelectorRequirement',
  },
  NodeSelectorRequirement: { key: 'string!', operator: 'string!', values: '[]string' },
  PreferredSchedulingTerm: { weight: 'int32!', preference: 'NodeSelectorTerm!' },
  PodAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: '[]PodAffinityTerm',
    preferredDuringSchedulingIgnoredDuringExecution: '[]WeightedPodAffinityTerm',
  },
  PodAffinityTerm: {
    labelSelector: 'LabelSelector',
    namespaces: '[]string',
    topologyKey: 'string!',
    namespaceSelector: 'LabelSelector',
    matchLabelKeys: '[]string',
    mismatchLabelKeys: '[]string',
  },
  WeightedPodAffinityTerm: { weight: 'int32!', podAffinityTerm: 'PodAffinityTerm!' },
  Toleration: {
    key: 'string',
    operator: 'string',
    value: 'string',
    effect: 'string',
    tolerationSeconds: 'int64',
  },
  HostAlias: { ip: 'string!', hostnames: '[]string' },
  PodDNSConfig: { nameservers: '[]string', searches: '[]string', options: '[]PodDNSConfigOption' },
  PodDNSConfigOption: { name: 'string', value: 'string' },
  PodReadinessGate: { conditionType: 'string!' },
  PodSchedulingGate: { name: 'string!' },
  PodResourceClaim: { name: 'string!', resourceClaimName: 'string', resourceClaimTemplateName: 'string' },
  TopologySpreadConstraint: {
    maxSkew: 'int32!',
    topologyKey: 'string!',
    whenUnsatisfiable: 'string!',
    labelSelector: 'LabelSelector',
    minDomains: 'int32',
    nodeAffinityPolicy: 'string',
    nodeTaintsPolicy: 'string',
    matchLabelKeys: '[]string',
  },
  WorkloadReference: { name: 'string!', podGroup: 'string!', podGroupReplicaKey: 'string' },
  PodSchedulingGroup: { podGroupName: 'string' },
} as const satisfies Tables<
  | 'Pod'
  | 'ObjectMeta'
  | 'OwnerReference'
  | 'LabelSelector'
  | 'LabelSelectorRequirement'
  | 'LocalObjectReference'
  | 'PodSpec'
  | 'PodOS'
  | 'Affinity'
  | 'NodeAffinity'
  | 'NodeSelector'
  | 'NodeSelectorTerm'
  | 'NodeSelectorRequirement'
  | 'PreferredSchedulingTerm'
  | 'PodAffinity'
  | 'PodAffinityTerm'
  | 'WeightedPodAffinityTerm'
  | 'Toleration'
  | 'HostAlias'
  | 'PodDNSConfig'
  | 'PodDNSConfigOption'
  | 'PodReadinessGate'
  | 'PodSchedulingGate'
  | 'PodResourceClaim'
  | 'TopologySpreadConstraint'
  | 'WorkloadReference'
  | 'PodSchedulingGroup'
>;
