/** The notation of the schema tables: each field of an object type and its kind of value. */
import type * as kube from '../../types/index.js';

/** The object types of manifests. */
export interface ManifestTypes {
  Pod: kube.PodManifest;
  ObjectMeta: kube.ObjectMeta;
  OwnerReference: kube.OwnerReference;
  LabelSelector: kube.LabelSelector;
  LabelSelectorRequirement: kube.LabelSelectorRequirement;
  LocalObjectReference: kube.LocalObjectReference;
  PodSpec: kube.PodSpec;
  PodOS: kube.PodOS;
  Affinity: kube.Affinity;
  NodeAffinity: kube.NodeAffinity;
  NodeSelector: kube.NodeSelector;
  NodeSelectorTerm: kube.NodeSelectorTerm;
  NodeSelectorRequirement: kube.NodeSelectorRequirement;
  PreferredSchedulingTerm: kube.PreferredSchedulingTerm;
  PodAffinity: kube.PodAffinity;
  PodAffinityTerm: kube.PodAffinityTerm;
  WeightedPodAffinityTerm: kube.WeightedPodAffinityTerm;
  Toleration: kube.Toleration;
  HostAlias: kube.HostAlias;
  PodDNSConfig: kube.PodDNSConfig;
  PodDNSConfigOption: kube.PodDNSConfigOption;
  PodReadinessGate: kube.PodReadinessGate;
  PodSchedulingGate: kube.PodSchedulingGate;
  PodResourceClaim: kube.PodResourceClaim;
  TopologySpreadConstraint: kube.TopologySpreadConstraint;
  WorkloadReference: kube.WorkloadReference;
  PodSchedulingGroup: kube.PodSchedulingGroup;
  PodSecurityContext: kube.PodSecurityContext;
  SecurityContext: kube.SecurityContext;
  SELinuxOptions: kube.SELinuxOptions;
  WindowsSecurityContextOptions: kube.WindowsSecurityContextOptions;
  SeccompProfile: kube.SeccompProfile;
  AppArmorProfile: kube.AppArmorProfile;
  Capabilities: kube.Capabilities;
  Sysctl: kube.Sysctl;
  Container: kube.Container;
  EphemeralContainer: kube.EphemeralContainer;
  ContainerPort: kube.ContainerPort;
  EnvFromSource: kube.EnvFromSource;
  EnvFromReference: kube.EnvFromReference;
  EnvVar: kube.EnvVar;
  EnvVarSource: kube.EnvVarSource;
  ObjectFieldSelector: kube.ObjectFieldSelector;
  ResourceFieldSelector: kube.ResourceFieldSelector;
  KeySelector: kube.KeySelector;
  FileKeySelector: kube.FileKeySelector;
  ResourceRequirements: kube.ResourceRequirements;
  ContainerResourceClaim: kube.ContainerResourceClaim;
  ContainerResizePolicy: kube.ContainerResizePolicy;
  ContainerRestartRule: kube.ContainerRestartRule;
  ContainerRestartRuleOnExitCodes: kube.ContainerRestartRuleOnExitCodes;
  VolumeMount: kube.VolumeMount;
  VolumeDevice: kube.VolumeDevice;
  Probe: kube.Probe;
  ExecAction: kube.ExecAction;
  HTTPGetAction: kube.HTTPGetAction;
  HTTPHeader: kube.HTTPHeader;
  TCPSocketAction: kube.TCPSocketAction;
  GRPCAction: kube.GRPCAction;
  SleepAction: kube.SleepAction;
  Lifecycle: kube.Lifecycle;
  LifecycleHandler: kube.LifecycleHandler;
  Volume: kube.Volume;
  HostPathVolumeSource: kube.HostPathVolumeSource;
  EmptyDirVolumeSource: kube.EmptyDirVolumeSource;
  KeyToPath: kube.KeyToPath;
  SecretVolumeSource: kube.SecretVolumeSource;
  ConfigMapVolumeSource: kube.ConfigMapVolumeSource;
  DownwardAPIVolumeSource: kube.DownwardAPIVolumeSource;
  DownwardAPIVolumeFile: kube.DownwardAPIVolumeFile;
  ProjectedVolumeSource: kube.ProjectedVolumeSource;
  VolumeProjection: kube.VolumeProjection;
  SecretProjection: kube.SecretProjection;
  ConfigMapProjection: kube.ConfigMapProjection;
  DownwardAPIProjection: kube.DownwardAPIProjection;
  ServiceAccountTokenProjection: kube.ServiceAccountTokenProjection;
  ClusterTrustBundleProjection: kube.ClusterTrustBundleProjection;
  PodCertificateProjection: kube.PodCertificateProjection;
  PersistentVolumeClaimVolumeSource: kube.PersistentVolumeClaimVolumeSource;
  EphemeralVolumeSource: kube.EphemeralVolumeSource;
  PersistentVolumeClaimTemplate: kube.PersistentVolumeClaimTemplate;
  PersistentVolumeClaimSpec: kube.PersistentVolumeClaimSpec;
  VolumeResourceRequirements: kube.VolumeResourceRequirements;
  TypedObjectReference: kube.TypedObjectReference;
  ImageVolumeSource: kube.ImageVolumeSource;
  CSIVolumeSource: kube.CSIVolumeSource;
  NFSVolumeSource: kube.NFSVolumeSource;
  ISCSIVolumeSource: kube.ISCSIVolumeSource;
  FlexPersistentVolumeSource: kube.FlexPersistentVolumeSource;
  ISCSIPersistentVolumeSource: kube.ISCSIPersistentVolumeSource;
  FCVolumeSource: kube.FCVolumeSource;
  GitRepoVolumeSource: kube.GitRepoVolumeSource;
  GlusterfsVolumeSource: kube.GlusterfsVolumeSource;
  AzureFileVolumeSource: kube.AzureFileVolumeSource;
  AzureDiskVolumeSource: kube.AzureDiskVolumeSource;
  RBDVolumeSource: kube.RBDVolumeSource;
  CephFSVolumeSource: kube.CephFSVolumeSource;
  FlexVolumeSource: kube.FlexVolumeSource;
  ScaleIOVolumeSource: kube.ScaleIOVolumeSource;
  StorageOSVolumeSource: kube.StorageOSVolumeSource;
  QuobyteVolumeSource: kube.QuobyteVolumeSource;
  CloudDiskVolumeSource: kube.CloudDiskVolumeSource;
  ConfigMap: kube.ConfigMap;
  Secret: kube.Secret;
  PersistentVolume: kube.PersistentVolume;
  PersistentVolumeSpec: kube.PersistentVolumeSpec;
  VolumeNodeAffinity: kube.VolumeNodeAffinity;
  LocalVolumeSource: kube.LocalVolumeSource;
  CSIPersistentVolumeSource: kube.CSIPersistentVolumeSource;
  SecretReference: kube.SecretReference;
  ObjectReference: kube.ObjectReference;
  PersistentVolumeClaim: kube.PersistentVolumeClaim;
  AzureFilePersistentVolumeSource: kube.AzureFilePersistentVolumeSource;
  PersistentVolumeClaimStatus: kube.PersistentVolumeClaimStatus;
  PersistentVolumeClaimCondition: kube.PersistentVolumeClaimCondition;
}

export type ManifestTypeName = keyof ManifestTypes;
export type ManifestScalarKind =
  | 'string'
  | 'int32'
  | 'int64'
  | 'bool'
  | 'quantity'
  | 'time'
  | 'intOrString'
  /** Kept unchecked. */
  | 'any';

/** `string`, `[]Container` (a list), `{}string` (a mapping with free keys). */
export type FieldKind = `${'' | '[]' | '{}'}${ManifestScalarKind | ManifestTypeName}`;

/** Every field of the type; `!` marks those that are always present and default to their zero value. */
export type FieldKinds<T> = {
  readonly [K in keyof Required<T>]: undefined extends T[K] ? FieldKind : `${FieldKind}!`;
};

export type Tables<N extends ManifestTypeName> = { readonly [K in N]: FieldKinds<ManifestTypes[K]> };
