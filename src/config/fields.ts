/** The table of all KubeletConfiguration fields. Decoding, defaults, flags, simple rules and help derive from it. */

import type { Taint } from '../kube/index.js';
import type {
  ConfigPath,
  ConfigValue,
  MemoryReservation,
  PodPriorityGracePeriod,
  VModuleEntry,
} from './types.js';

/** The type of a decoded value, by kind. */
export interface KindValues {
  bool: boolean;
  int32: number;
  int64: number;
  uint32: number;
  float: number;
  string: string;
  /** Milliseconds; a Go duration string in files and flags. */
  duration: number;
  /** Like `duration`, but files may also use a whole number of nanoseconds. */
  durationOrNanos: number;
  /** A quantity in canonical text. */
  quantity: string;
  stringList: readonly string[];
  int32List: readonly number[];
  stringMap: Readonly<Record<string, string>>;
  boolMap: Readonly<Record<string, boolean>>;
  headerMap: Readonly<Record<string, readonly string[]>>;
  taints: readonly Taint[];
  memoryReservations: readonly MemoryReservation[];
  podPriorityGracePeriods: readonly PodPriorityGracePeriod[];
  vmodule: readonly VModuleEntry[];
}
export type ValueKind = keyof KindValues;

/** Rules for one value. Rules that compare values are in validate.ts and construction.ts. */
export type FieldRule =
  | { readonly kind: 'between'; readonly min: number; readonly max: number }
  | { readonly kind: 'atLeast'; readonly min: number }
  | {
      readonly kind: 'oneOf';
      readonly values: readonly string[];
      /** The values as the reference lists them, where its words are known. */
      readonly listed?: string;
    };

/** The syntax of a flag where it differs from the field's kind. */
export type FlagForm = 'ip' | 'lessThanMap';

export interface FieldOptions<V = unknown> {
  readonly about: string;
  /** Replaces an absent value, and a zero value unless `pointer` is set. */
  readonly default?: V;
  /** Keeps an explicit zero value. */
  readonly pointer?: true;
  /** `/configz` shows the field even when it is zero. */
  readonly alwaysWritten?: true;
  readonly flag?: string;
  readonly shorthand?: string;
  /** The flag is not deprecated. */
  readonly flagStays?: true;
  readonly flagForm?: FlagForm;
  readonly rule?: FieldRule;
  /** A relative path is resolved against the directory of the configuration file. */
  readonly relativeToFile?: true;
  readonly secret?: true;
}

export interface ConfigField<P extends ConfigPath = ConfigPath> extends FieldOptions {
  readonly path: P;
  readonly kind: ValueKind;
}

function field<P extends ConfigPath, K extends ValueKind>(
  path: P,
  kind: ConfigValue<P> extends KindValues[K] ? K : never,
  options: FieldOptions<ConfigValue<P>>,
): ConfigField<P> {
  return { path, kind, ...options };
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

const port: FieldRule = { kind: 'between', min: 1, max: 65535 };
const portOrOff: FieldRule = { kind: 'between', min: 0, max: 65535 };
const percent: FieldRule = { kind: 'between', min: 0, max: 100 };
const notNegative: FieldRule = { kind: 'atLeast', min: 0 };
const oneOf = (...values: readonly string[]): FieldRule => ({ kind: 'oneOf', values });

const rows = [
  field('enableServer', 'bool', {
    default: true,
    pointer: true,
    flag: 'enable-server',
    about: 'Serve the kubelet HTTPS API',
  }),
  field('staticPodPath', 'string', {
    flag: 'pod-manifest-path',
    relativeToFile: true,
    about: 'File or directory of static pod manifests',
  }),
  field('podLogsDir', 'string', {
    default: '/var/log/pods',
    relativeToFile: true,
    about: 'Directory of pod logs',
  }),
  field('syncFrequency', 'duration', {
    default: minute,
    flag: 'sync-frequency',
    about: 'Maximum time between two syncs of a pod',
  }),
  field('fileCheckFrequency', 'duration', {
    default: 20 * second,
    flag: 'file-check-frequency',
    about: 'Period of rescanning the static pod path',
  }),
  field('httpCheckFrequency', 'duration', {
    default: 20 * second,
    flag: 'http-check-frequency',
    about: 'Period of polling the static pod URL',
  }),
  field('staticPodURL', 'string', { flag: 'manifest-url', about: 'URL with static pods' }),
  field('staticPodURLHeader', 'headerMap', {
    flag: 'manifest-url-header',
    secret: true,
    about: 'HTTP headers sent to the static pod URL, as name:value',
  }),
  field('address', 'string', {
    default: '0.0.0.0',
    flag: 'address',
    flagForm: 'ip',
    about: 'IP address that the servers listen on',
  }),
  field('port', 'int32', { default: 10250, flag: 'port', rule: port, about: 'Port of the HTTPS API' }),
  field('readOnlyPort', 'int32', {
    flag: 'read-only-port',
    rule: portOrOff,
    about: 'Port of the unauthenticated read-only API, 0 = off',
  }),
  field('tlsCertFile', 'string', {
    flag: 'tls-cert-file',
    relativeToFile: true,
    about: 'File of the serving certificate',
  }),
  field('tlsPrivateKeyFile', 'string', {
    flag: 'tls-private-key-file',
    relativeToFile: true,
    about: 'File of its private key',
  }),
  field('tlsCipherSuites', 'stringList', {
    flag: 'tls-cipher-suites',
    about: 'Cipher suites of the server, by IANA name',
  }),
  field('tlsCurvePreferences', 'int32List', { about: 'TLS group IDs of the server, as numbers' }),
  field('tlsMinVersion', 'string', {
    flag: 'tls-min-version',
    rule: oneOf('', 'VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'),
    about: 'Lowest TLS version of the server, VersionTLS12 when empty',
  }),
  field('rotateCertificates', 'bool', {
    flag: 'rotate-certificates',
    about: 'Renew the client certificate before it expires',
  }),
  field('serverTLSBootstrap', 'bool', {
    flag: 'rotate-server-certificates',
    about: 'Request the serving certificate from the cluster',
  }),
  field('authentication.x509.clientCAFile', 'string', {
    flag: 'client-ca-file',
    relativeToFile: true,
    about: 'CA bundle that verifies client certificates',
  }),
  field('authentication.webhook.enabled', 'bool', {
    default: true,
    pointer: true,
    flag: 'authentication-token-webhook',
    about: 'Check bearer tokens with the API server',
  }),
  field('authentication.webhook.cacheTTL', 'duration', {
    default: 2 * minute,
    flag: 'authentication-token-webhook-cache-ttl',
    about: 'How long the result of a token review is cached',
  }),
  field('authentication.anonymous.enabled', 'bool', {
    default: false,
    pointer: true,
    flag: 'anonymous-auth',
    about: 'Accept requests without credentials, as system:anonymous',
  }),
  field('authorization.mode', 'string', {
    default: 'Webhook',
    flag: 'authorization-mode',
    about: 'AlwaysAllow or Webhook',
  }),
  field('authorization.webhook.cacheAuthorizedTTL', 'duration', {
    default: 5 * minute,
    flag: 'authorization-webhook-cache-authorized-ttl',
    about: 'How long an allowed request is cached',
  }),
  field('authorization.webhook.cacheUnauthorizedTTL', 'duration', {
    default: 30 * second,
    flag: 'authorization-webhook-cache-unauthorized-ttl',
    about: 'How long a denied request is cached',
  }),
  field('registryPullQPS', 'int32', {
    default: 5,
    pointer: true,
    flag: 'registry-qps',
    rule: notNegative,
    about: 'Image pulls per second, 0 = no limit',
  }),
  field('registryBurst', 'int32', {
    default: 10,
    flag: 'registry-burst',
    rule: notNegative,
    about: 'Burst of image pulls above the rate',
  }),
  field('imagePullCredentialsVerificationPolicy', 'string', {
    default: 'NeverVerifyPreloadedImages',
    about: 'When to verify pull credentials for images that are present',
  }),
  field('preloadedImagesVerificationAllowlist', 'stringList', {
    about: 'Images exempt from that verification; a pattern may end in /*',
  }),
  field('eventRecordQPS', 'int32', {
    default: 50,
    pointer: true,
    flag: 'event-qps',
    rule: notNegative,
    about: 'Events per second, 0 = client default',
  }),
  field('eventBurst', 'int32', {
    default: 100,
    flag: 'event-burst',
    rule: notNegative,
    about: 'Burst of events above the rate',
  }),
  field('enableDebuggingHandlers', 'bool', {
    default: true,
    pointer: true,
    flag: 'enable-debugging-handlers',
    about: 'Serve exec, attach, logs, port forwarding and run',
  }),
  field('enableContentionProfiling', 'bool', {
    flag: 'contention-profiling',
    about: 'Record lock contention',
  }),
  field('healthzPort', 'int32', {
    default: 10248,
    pointer: true,
    flag: 'healthz-port',
    rule: portOrOff,
    about: 'Port of the health endpoint, 0 = off',
  }),
  field('healthzBindAddress', 'string', {
    default: '127.0.0.1',
    flag: 'healthz-bind-address',
    flagForm: 'ip',
    about: 'IP address of the health endpoint',
  }),
  field('oomScoreAdj', 'int32', {
    default: -999,
    pointer: true,
    flag: 'oom-score-adj',
    rule: { kind: 'between', min: -1000, max: 1000 },
    about: 'oom_score_adj of this process',
  }),
  field('clusterDomain', 'string', { flag: 'cluster-domain', about: 'DNS domain of the cluster' }),
  field('clusterDNS', 'stringList', { flag: 'cluster-dns', about: 'IP addresses of the cluster DNS' }),
  field('streamingConnectionIdleTimeout', 'duration', {
    default: 4 * hour,
    flag: 'streaming-connection-idle-timeout',
    about: 'Accepted, no effect',
  }),
  field('nodeStatusUpdateFrequency', 'duration', {
    default: 10 * second,
    flag: 'node-status-update-frequency',
    about: 'Period of computing the node status',
  }),
  field('nodeStatusReportFrequency', 'duration', {
    default: 5 * minute,
    about: 'Maximum time between two reports of an unchanged node status',
  }),
  field('nodeLeaseDurationSeconds', 'int32', {
    default: 40,
    rule: { kind: 'atLeast', min: 1 },
    about: 'Duration of the node lease',
  }),
  field('imageMinimumGCAge', 'duration', {
    default: 2 * minute,
    flag: 'minimum-image-ttl-duration',
    rule: notNegative,
    about: 'Minimum age of an unused image before it may be removed',
  }),
  field('imageMaximumGCAge', 'duration', {
    rule: notNegative,
    about: 'Age at which an unused image is removed, 0s = never',
  }),
  field('imageGCHighThresholdPercent', 'int32', {
    default: 85,
    pointer: true,
    flag: 'image-gc-high-threshold',
    rule: percent,
    about: 'Disk usage that starts image removal',
  }),
  field('imageGCLowThresholdPercent', 'int32', {
    default: 80,
    pointer: true,
    flag: 'image-gc-low-threshold',
    rule: percent,
    about: 'Disk usage that image removal aims for',
  }),
  field('volumeStatsAggPeriod', 'duration', {
    default: minute,
    flag: 'volume-stats-agg-period',
    about: 'Period of measuring volumes, negative = off',
  }),
  field('kubeletCgroups', 'string', {
    flag: 'kubelet-cgroups',
    about: 'Cgroup that the kubelet moves itself to',
  }),
  field('systemCgroups', 'string', {
    flag: 'system-cgroups',
    about: 'Cgroup for processes that are in no other cgroup',
  }),
  field('cgroupRoot', 'string', { flag: 'cgroup-root', about: 'Parent cgroup of all pods' }),
  field('cgroupsPerQOS', 'bool', {
    default: true,
    pointer: true,
    flag: 'cgroups-per-qos',
    about: 'A cgroup per QoS class and per pod',
  }),
  field('cgroupDriver', 'string', {
    default: 'cgroupfs',
    flag: 'cgroup-driver',
    about: 'cgroupfs or systemd; what the runtime reports wins',
  }),
  field('cpuManagerPolicy', 'string', {
    default: 'none',
    flag: 'cpu-manager-policy',
    about: 'none or static',
  }),
  field('singleProcessOOMKill', 'bool', {
    pointer: true,
    about: 'Let the kernel kill single processes instead of the container',
  }),
  field('cpuManagerPolicyOptions', 'stringMap', {
    flag: 'cpu-manager-policy-options',
    about: 'Options of the CPU manager policy',
  }),
  field('cpuManagerReconcilePeriod', 'duration', {
    default: 10 * second,
    flag: 'cpu-manager-reconcile-period',
    about: 'Period of correcting CPU assignments',
  }),
  field('memoryManagerPolicy', 'string', {
    default: 'None',
    flag: 'memory-manager-policy',
    about: 'None or Static',
  }),
  field('topologyManagerPolicy', 'string', {
    default: 'none',
    flag: 'topology-manager-policy',
    rule: {
      kind: 'oneOf',
      values: ['none', 'best-effort', 'restricted', 'single-numa-node'],
      listed: '["none" "best-effort" "restricted" "single-numa-node"]',
    },
    about: 'none, best-effort, restricted or single-numa-node',
  }),
  field('topologyManagerScope', 'string', {
    default: 'container',
    flag: 'topology-manager-scope',
    rule: { kind: 'oneOf', values: ['container', 'pod'], listed: '"container", or "pod"' },
    about: 'container or pod',
  }),
  field('topologyManagerPolicyOptions', 'stringMap', {
    flag: 'topology-manager-policy-options',
    about: 'Options of the topology manager policy',
  }),
  field('qosReserved', 'stringMap', {
    flag: 'qos-reserved',
    about: 'Share of requests reserved from lower QoS classes, as memory=50%',
  }),
  field('runtimeRequestTimeout', 'duration', {
    default: 2 * minute,
    flag: 'runtime-request-timeout',
    about: 'Deadline of a runtime call, except pull, logs, exec and attach',
  }),
  field('hairpinMode', 'string', {
    default: 'promiscuous-bridge',
    flag: 'hairpin-mode',
    rule: oneOf('promiscuous-bridge', 'hairpin-veth', 'none'),
    about: 'Checked, otherwise unused',
  }),
  field('maxPods', 'int32', {
    default: 110,
    flag: 'max-pods',
    rule: notNegative,
    about: 'Maximum number of pods on this node',
  }),
  field('podCIDR', 'string', { flag: 'pod-cidr', about: 'Pod address range, passed to the runtime' }),
  field('podPidsLimit', 'int64', {
    default: -1,
    pointer: true,
    flag: 'pod-max-pids',
    about: 'Maximum number of processes of a pod, -1 = no limit',
  }),
  field('resolvConf', 'string', {
    default: '/etc/resolv.conf',
    pointer: true,
    flag: 'resolv-conf',
    relativeToFile: true,
    about: 'DNS configuration file for pods, "" = none',
  }),
  field('runOnce', 'bool', { flag: 'runonce', about: 'No longer supported' }),
  field('cpuCFSQuota', 'bool', {
    default: true,
    pointer: true,
    flag: 'cpu-cfs-quota',
    about: 'Enforce CPU limits',
  }),
  field('cpuCFSQuotaPeriod', 'duration', {
    default: 100,
    pointer: true,
    flag: 'cpu-cfs-quota-period',
    rule: { kind: 'between', min: 1, max: second },
    about: 'Period of the CPU quota',
  }),
  field('nodeStatusMaxImages', 'int32', {
    default: 50,
    pointer: true,
    flag: 'node-status-max-images',
    rule: { kind: 'atLeast', min: -1 },
    about: 'Maximum number of images in the node status, -1 = all',
  }),
  field('maxOpenFiles', 'int64', {
    default: 1_000_000,
    flag: 'max-open-files',
    rule: notNegative,
    about: 'Open file limit of this process; the default only raises a lower one',
  }),
  field('contentType', 'string', {
    default: 'application/vnd.kubernetes.protobuf',
    flag: 'kube-api-content-type',
    about: 'Content type of requests to the API server, always application/json here',
  }),
  field('kubeAPIQPS', 'int32', {
    default: 50,
    pointer: true,
    flag: 'kube-api-qps',
    rule: notNegative,
    about: 'Requests per second to the API server, 0 = client default',
  }),
  field('kubeAPIBurst', 'int32', {
    default: 100,
    flag: 'kube-api-burst',
    rule: notNegative,
    about: 'Burst of requests above the rate',
  }),
  field('serializeImagePulls', 'bool', {
    default: true,
    pointer: true,
    flag: 'serialize-image-pulls',
    about: 'Pull one image at a time',
  }),
  field('maxParallelImagePulls', 'int32', {
    pointer: true,
    rule: { kind: 'atLeast', min: 1 },
    about: 'Maximum number of image pulls at a time',
  }),
  field('evictionHard', 'stringMap', {
    flag: 'eviction-hard',
    flagForm: 'lessThanMap',
    about: 'Thresholds that evict at once, as memory.available<1Gi',
  }),
  field('evictionSoft', 'stringMap', {
    flag: 'eviction-soft',
    flagForm: 'lessThanMap',
    about: 'Thresholds that evict after a grace period',
  }),
  field('evictionSoftGracePeriod', 'stringMap', {
    flag: 'eviction-soft-grace-period',
    about: 'Grace periods of the soft thresholds, as memory.available=1m',
  }),
  field('evictionPressureTransitionPeriod', 'duration', {
    default: 5 * minute,
    flag: 'eviction-pressure-transition-period',
    about: 'How long a pressure condition stays after the pressure ends',
  }),
  field('evictionMaxPodGracePeriod', 'int32', {
    flag: 'eviction-max-pod-grace-period',
    about: 'Maximum grace period of a soft eviction, in seconds',
  }),
  field('evictionMinimumReclaim', 'stringMap', {
    flag: 'eviction-minimum-reclaim',
    about: 'Minimum amount that an eviction frees, as nodefs.available=2Gi',
  }),
  field('mergeDefaultEvictionSettings', 'bool', {
    default: false,
    pointer: true,
    about: 'Add the default hard thresholds that evictionHard leaves out',
  }),
  field('podsPerCore', 'int32', {
    flag: 'pods-per-core',
    rule: notNegative,
    about: 'Maximum number of pods per CPU core, 0 = no limit',
  }),
  field('enableControllerAttachDetach', 'bool', {
    default: true,
    pointer: true,
    flag: 'enable-controller-attach-detach',
    about: 'Let the attach/detach controller attach volumes',
  }),
  field('protectKernelDefaults', 'bool', {
    flag: 'protect-kernel-defaults',
    about: 'Fail instead of changing kernel settings',
  }),
  field('makeIPTablesUtilChains', 'bool', {
    default: true,
    pointer: true,
    flag: 'make-iptables-util-chains',
    about: 'Maintain the iptables chains that other components use',
  }),
  field('iptablesMasqueradeBit', 'int32', {
    default: 14,
    pointer: true,
    rule: { kind: 'between', min: 0, max: 31 },
    about: 'Accepted, no effect',
  }),
  field('iptablesDropBit', 'int32', {
    default: 15,
    pointer: true,
    rule: { kind: 'between', min: 0, max: 31 },
    about: 'Accepted, no effect',
  }),
  field('featureGates', 'boolMap', {
    flag: 'feature-gates',
    about: 'Feature gates, as Name=true; merged with the file',
  }),
  field('failSwapOn', 'bool', {
    default: true,
    pointer: true,
    flag: 'fail-swap-on',
    about: 'Refuse to run with swap',
  }),
  field('memorySwap.swapBehavior', 'string', {
    about: 'NoSwap or LimitedSwap',
  }),
  field('containerLogMaxSize', 'string', {
    default: '10Mi',
    flag: 'container-log-max-size',
    about: 'Size at which a container log is rotated',
  }),
  field('containerLogMaxFiles', 'int32', {
    default: 5,
    pointer: true,
    flag: 'container-log-max-files',
    rule: { kind: 'atLeast', min: 2 },
    about: 'Maximum number of log files of a container',
  }),
  field('containerLogMaxWorkers', 'int32', {
    default: 1,
    pointer: true,
    rule: { kind: 'atLeast', min: 1 },
    about: 'Log rotations at a time',
  }),
  field('containerLogMonitorInterval', 'duration', {
    default: 10 * second,
    pointer: true,
    rule: { kind: 'atLeast', min: 3 * second },
    about: 'Period of checking log sizes',
  }),
  field('configMapAndSecretChangeDetectionStrategy', 'string', {
    default: 'Watch',
    rule: oneOf('Get', 'Cache', 'Watch'),
    about: 'Get, Cache or Watch',
  }),
  field('systemReserved', 'stringMap', {
    flag: 'system-reserved',
    about: 'Resources reserved for the system, as cpu=200m,memory=500Mi',
  }),
  field('kubeReserved', 'stringMap', {
    flag: 'kube-reserved',
    about: 'Resources reserved for Kubernetes daemons',
  }),
  field('reservedSystemCPUs', 'string', {
    flag: 'reserved-cpus',
    about: 'CPUs reserved for the system, as 0-1,4',
  }),
  field('showHiddenMetricsForVersion', 'string', {
    about: 'Previous minor version whose hidden metrics are shown',
  }),
  field('systemReservedCgroup', 'string', {
    flag: 'system-reserved-cgroup',
    about: 'Cgroup that systemReserved is enforced on',
  }),
  field('kubeReservedCgroup', 'string', {
    flag: 'kube-reserved-cgroup',
    about: 'Cgroup that kubeReserved is enforced on',
  }),
  field('enforceNodeAllocatable', 'stringList', {
    default: ['pods'],
    flag: 'enforce-node-allocatable',
    about: 'Levels at which reservations are enforced',
  }),
  field('allowedUnsafeSysctls', 'stringList', {
    flag: 'allowed-unsafe-sysctls',
    about: 'Unsafe sysctls that pods may set; a pattern may end in *',
  }),
  field('defaultPodSysctls', 'stringMap', {
    about: 'Kernel parameters of pods that do not set them',
  }),
  field('volumePluginDir', 'string', {
    default: '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/',
    flag: 'volume-plugin-dir',
    relativeToFile: true,
    about: 'Directory of third-party volume plugins',
  }),
  field('providerID', 'string', {
    flag: 'provider-id',
    flagStays: true,
    about: 'ID of this machine at its cloud provider',
  }),
  field('kernelMemcgNotification', 'bool', {
    flag: 'kernel-memcg-notification',
    about: 'Get memory pressure notifications from the kernel',
  }),
  field('logging.format', 'string', { default: 'text', flag: 'logging-format', about: 'text or json' }),
  field('logging.flushFrequency', 'durationOrNanos', {
    default: 5 * second,
    flag: 'log-flush-frequency',
    flagStays: true,
    about: 'Maximum time between two flushes of the log',
  }),
  field('logging.verbosity', 'uint32', {
    alwaysWritten: true,
    flag: 'v',
    shorthand: 'v',
    flagStays: true,
    about: 'Log verbosity',
  }),
  field('logging.vmodule', 'vmodule', {
    flag: 'vmodule',
    flagStays: true,
    about: 'Verbosity by the name of the entry in the log, as pattern=N: pleg.*=4',
  }),
  field('logging.options.text.splitStream', 'bool', {
    flag: 'log-text-split-stream',
    about: 'Text format: errors to stderr, the rest to stdout',
  }),
  field('logging.options.text.infoBufferSize', 'quantity', {
    default: '0',
    alwaysWritten: true,
    flag: 'log-text-info-buffer-size',
    about: 'Text format: buffer size of stdout',
  }),
  field('logging.options.json.splitStream', 'bool', {
    flag: 'log-json-split-stream',
    about: 'JSON format: errors to stderr, the rest to stdout',
  }),
  field('logging.options.json.infoBufferSize', 'quantity', {
    default: '0',
    alwaysWritten: true,
    flag: 'log-json-info-buffer-size',
    about: 'JSON format: buffer size of stdout',
  }),
  field('enableSystemLogHandler', 'bool', {
    default: true,
    pointer: true,
    about: 'Serve system logs under /logs',
  }),
  field('enableSystemLogQuery', 'bool', {
    default: false,
    pointer: true,
    about: 'Let /logs query the logs of services; needs enableSystemLogHandler',
  }),
  field('shutdownGracePeriod', 'duration', { about: 'How long a node shutdown waits for pods' }),
  field('shutdownGracePeriodCriticalPods', 'duration', {
    about: 'Part of shutdownGracePeriod reserved for critical pods',
  }),
  field('shutdownGracePeriodByPodPriority', 'podPriorityGracePeriods', {
    about: 'Shutdown grace period by pod priority',
  }),
  field('crashLoopBackOff.maxContainerRestartPeriod', 'duration', {
    pointer: true,
    about: 'Maximum back-off before a crashed container restarts',
  }),
  field('reservedMemory', 'memoryReservations', {
    flag: 'reserved-memory',
    about: 'Memory reserved per NUMA node, as 0:memory=1Gi;1:memory=2Gi',
  }),
  field('enableProfilingHandler', 'bool', { default: true, pointer: true, about: 'Serve /debug/pprof' }),
  field('enableDebugFlagsHandler', 'bool', { default: true, pointer: true, about: 'Serve /debug/flags/v' }),
  field('seccompDefault', 'bool', {
    default: false,
    pointer: true,
    about: 'Use the RuntimeDefault seccomp profile for pods without one',
  }),
  field('memoryThrottlingFactor', 'float', {
    pointer: true,
    about: 'Fraction of the memory limit at which throttling starts; none when unset',
  }),
  field('memoryReservationPolicy', 'string', {
    default: 'None',
    about: 'None or TieredReservation',
  }),
  field('registerWithTaints', 'taints', {
    flag: 'register-with-taints',
    about: 'Taints of a new node, as key=value:Effect',
  }),
  field('registerNode', 'bool', {
    default: true,
    pointer: true,
    flag: 'register-node',
    about: 'Create the Node object',
  }),
  field('tracing.endpoint', 'string', { pointer: true, about: 'Address of the trace collector' }),
  field('tracing.samplingRatePerMillion', 'int32', { pointer: true, about: 'Traces kept per million' }),
  field('localStorageCapacityIsolation', 'bool', {
    default: true,
    pointer: true,
    flag: 'local-storage-capacity-isolation',
    about: 'Account local ephemeral storage',
  }),
  field('containerRuntimeEndpoint', 'string', {
    default: 'unix:///run/containerd/containerd.sock',
    alwaysWritten: true,
    flag: 'container-runtime-endpoint',
    about: 'CRI socket of the container runtime',
  }),
  field('imageServiceEndpoint', 'string', {
    flag: 'image-service-endpoint',
    about: 'CRI socket of the image service; empty = the runtime socket',
  }),
  field('failCgroupV1', 'bool', {
    default: true,
    pointer: true,
    flag: 'fail-cgroupv1',
    flagStays: true,
    about: 'Refuse to run on cgroup v1',
  }),
  field('userNamespaces.idsPerPod', 'int64', {
    pointer: true,
    about: 'User IDs per pod with a user namespace',
  }),
] as const;

/** A compile error when a field of KubeletConfiguration has no row. */
type MissingRows = Exclude<ConfigPath, (typeof rows)[number]['path']>;
const everyPathHasARow: [MissingRows] extends [never] ? true : MissingRows = true;
void everyPathHasARow;

/** In the order in which the reference writes the fields. */
export const configFields: readonly ConfigField[] = rows;

/** Structures that exist only when a file sets them. All others always exist. */
export const optionalStructs = ['tracing', 'userNamespaces'] as const;

export const fieldsByPath: ReadonlyMap<string, ConfigField> = new Map(
  configFields.map((row) => [row.path, row]),
);

/** The value that counts as unset for a field without `pointer`. */
export function zeroValue(kind: ValueKind): unknown {
  switch (kind) {
    case 'bool':
      return false;
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'float':
    case 'duration':
    case 'durationOrNanos':
      return 0;
    case 'string':
      return '';
    case 'quantity':
      return '0';
    case 'stringList':
    case 'int32List':
    case 'taints':
    case 'memoryReservations':
    case 'podPriorityGracePeriods':
    case 'vmodule':
      return [];
    case 'stringMap':
    case 'boolMap':
    case 'headerMap':
      return {};
  }
}
