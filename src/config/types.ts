/** The effective KubeletConfiguration (v1beta1) as plain typed values, under the names that the file uses. */
import type { ResourceList, Taint } from '../kube/index.js';

export const configApiVersion = 'kubelet.config.k8s.io/v1beta1';
export const configKind = 'KubeletConfiguration';

/** A duration in milliseconds. Files and `/configz` use Go durations. */
export type DurationMs = number;

export type AuthorizationMode = 'AlwaysAllow' | 'Webhook';
export type ImagePullCredentialsVerificationPolicy =
  | ''
  | 'NeverVerify'
  | 'NeverVerifyPreloadedImages'
  | 'NeverVerifyAllowlistedImages'
  | 'AlwaysVerify';
export type TopologyManagerPolicy = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';
export type NodeAllocatableEnforcement =
  | 'pods'
  | 'system-reserved'
  | 'system-reserved-compressible'
  | 'kube-reserved'
  | 'kube-reserved-compressible'
  | 'none';

export interface VModuleEntry {
  filePattern: string;
  verbosity: number;
}

export interface PodPriorityGracePeriod {
  priority: number;
  shutdownGracePeriodSeconds: number;
}

export interface MemoryReservation {
  numaNode: number;
  limits: ResourceList;
}

export interface LogOutputOptions {
  splitStream: boolean;
  /** A quantity of bytes, in canonical form. */
  infoBufferSize: string;
}

/**
 * After defaulting, every field is present except the optional ones: they have no default, and their absence has a
 * meaning. Lists and maps that are not set are empty.
 */
export interface KubeletConfiguration {
  enableServer: boolean;
  staticPodPath: string;
  podLogsDir: string;
  syncFrequency: DurationMs;
  fileCheckFrequency: DurationMs;
  httpCheckFrequency: DurationMs;
  staticPodURL: string;
  /** Values are secret: print them only through `maskSecrets`. */
  staticPodURLHeader: Record<string, string[]>;
  address: string;
  port: number;
  readOnlyPort: number;
  tlsCertFile: string;
  tlsPrivateKeyFile: string;
  tlsCipherSuites: string[];
  tlsCurvePreferences: number[];
  tlsMinVersion: '' | 'VersionTLS10' | 'VersionTLS11' | 'VersionTLS12' | 'VersionTLS13';
  rotateCertificates: boolean;
  serverTLSBootstrap: boolean;
  authentication: {
    x509: { clientCAFile: string };
    webhook: { enabled: boolean; cacheTTL: DurationMs };
    anonymous: { enabled: boolean };
  };
  authorization: {
    mode: AuthorizationMode;
    webhook: { cacheAuthorizedTTL: DurationMs; cacheUnauthorizedTTL: DurationMs };
  };
  registryPullQPS: number;
  registryBurst: number;
  imagePullCredentialsVerificationPolicy: ImagePullCredentialsVerificationPolicy;
  preloadedImagesVerificationAllowlist: string[];
  eventRecordQPS: number;
  eventBurst: number;
  enableDebuggingHandlers: boolean;
  enableContentionProfiling: boolean;
  healthzPort: number;
  healthzBindAddress: string;
  oomScoreAdj: number;
  clusterDomain: string;
  clusterDNS: string[];
  streamingConnectionIdleTimeout: DurationMs;
  nodeStatusUpdateFrequency: DurationMs;
  nodeStatusReportFrequency: DurationMs;
  nodeLeaseDurationSeconds: number;
  imageMinimumGCAge: DurationMs;
  imageMaximumGCAge: DurationMs;
  imageGCHighThresholdPercent: number;
  imageGCLowThresholdPercent: number;
  volumeStatsAggPeriod: DurationMs;
  kubeletCgroups: string;
  systemCgroups: string;
  cgroupRoot: string;
  cgroupsPerQOS: boolean;
  cgroupDriver: string;
  cpuManagerPolicy: string;
  /** Absent: false on cgroup v2, true on v1. */
  singleProcessOOMKill?: boolean;
  cpuManagerPolicyOptions: Record<string, string>;
  cpuManagerReconcilePeriod: DurationMs;
  memoryManagerPolicy: string;
  topologyManagerPolicy: TopologyManagerPolicy;
  topologyManagerScope: 'container' | 'pod';
  topologyManagerPolicyOptions: Record<string, string>;
  qosReserved: Record<string, string>;
  runtimeRequestTimeout: DurationMs;
  hairpinMode: 'promiscuous-bridge' | 'hairpin-veth' | 'none';
  maxPods: number;
  podCIDR: string;
  podPidsLimit: number;
  resolvConf: string;
  runOnce: boolean;
  cpuCFSQuota: boolean;
  cpuCFSQuotaPeriod: DurationMs;
  nodeStatusMaxImages: number;
  maxOpenFiles: number;
  contentType: string;
  kubeAPIQPS: number;
  kubeAPIBurst: number;
  serializeImagePulls: boolean;
  /** Absent: no limit. */
  maxParallelImagePulls?: number;
  evictionHard: Record<string, string>;
  evictionSoft: Record<string, string>;
  evictionSoftGracePeriod: Record<string, string>;
  evictionPressureTransitionPeriod: DurationMs;
  evictionMaxPodGracePeriod: number;
  evictionMinimumReclaim: Record<string, string>;
  mergeDefaultEvictionSettings: boolean;
  podsPerCore: number;
  enableControllerAttachDetach: boolean;
  protectKernelDefaults: boolean;
  makeIPTablesUtilChains: boolean;
  iptablesMasqueradeBit: number;
  iptablesDropBit: number;
  featureGates: Record<string, boolean>;
  failSwapOn: boolean;
  memorySwap: { swapBehavior: '' | 'NoSwap' | 'LimitedSwap' };
  containerLogMaxSize: string;
  containerLogMaxFiles: number;
  containerLogMaxWorkers: number;
  containerLogMonitorInterval: DurationMs;
  configMapAndSecretChangeDetectionStrategy: 'Get' | 'Cache' | 'Watch';
  systemReserved: Record<string, string>;
  kubeReserved: Record<string, string>;
  reservedSystemCPUs: string;
  showHiddenMetricsForVersion: string;
  systemReservedCgroup: string;
  kubeReservedCgroup: string;
  enforceNodeAllocatable: NodeAllocatableEnforcement[];
  allowedUnsafeSysctls: string[];
  volumePluginDir: string;
  providerID: string;
  kernelMemcgNotification: boolean;
  logging: {
    format: 'text' | 'json';
    flushFrequency: DurationMs;
    verbosity: number;
    vmodule: VModuleEntry[];
    options: { text: LogOutputOptions; json: LogOutputOptions };
  };
  enableSystemLogHandler: boolean;
  enableSystemLogQuery: boolean;
  shutdownGracePeriod: DurationMs;
  shutdownGracePeriodCriticalPods: DurationMs;
  shutdownGracePeriodByPodPriority: PodPriorityGracePeriod[];
  crashLoopBackOff: {
    /** Absent when gate KubeletCrashLoopBackOffMax is off. */
    maxContainerRestartPeriod?: DurationMs;
  };
  reservedMemory: MemoryReservation[];
  enableProfilingHandler: boolean;
  enableDebugFlagsHandler: boolean;
  seccompDefault: boolean;
  /** Absent: memory is not throttled. */
  memoryThrottlingFactor?: number;
  memoryReservationPolicy: 'None' | 'TieredReservation';
  registerWithTaints: Taint[];
  registerNode: boolean;
  /** Absent: no tracing. */
  tracing?: { endpoint?: string; samplingRatePerMillion?: number };
  localStorageCapacityIsolation: boolean;
  containerRuntimeEndpoint: string;
  imageServiceEndpoint: string;
  failCgroupV1: boolean;
  userNamespaces?: { idsPerPod?: number };
  defaultPodSysctls: Record<string, string>;
}

type IsLeaf<T> = T extends string | number | boolean | readonly unknown[]
  ? true
  : string extends keyof T
    ? true
    : false;

type LeafPaths<T> = {
  [K in keyof T & string]-?: true extends IsLeaf<NonNullable<T[K]>>
    ? K
    : `${K}.${LeafPaths<NonNullable<T[K]>>}`;
}[keyof T & string];

/** The path of one setting, such as `authentication.webhook.cacheTTL`. */
export type ConfigPath = LeafPaths<KubeletConfiguration>;

type ValueIn<T, P extends string> = P extends `${infer Head}.${infer Rest}`
  ? Head extends keyof T
    ? ValueIn<NonNullable<T[Head]>, Rest>
    : never
  : P extends keyof T
    ? NonNullable<T[P]>
    : never;

/** The type of the setting at a path. */
export type ConfigValue<P extends ConfigPath> = ValueIn<KubeletConfiguration, P>;
