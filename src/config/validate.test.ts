import { describe, expect, it } from 'vitest';
import { constructionProblems } from './construction.js';
import { decodeConfigFile } from './decode.js';
import { applyDefaults } from './defaults.js';
import { resolveFeatureGates } from './feature-gates.js';
import { imagePatternProblem } from './image-pattern.js';
import type { ConfiguredHost, RuleContext } from './rule-context.js';
import { validateConfiguration } from './validate.js';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

function contextOf(body: string, host: ConfiguredHost = {}, standalone = false): RuleContext {
  const { settings } = decodeConfigFile(`${header}${body}\n`, '/etc/k/cfg.yaml', { lenient: false });
  const requested = settings.values.get('featureGates') ?? {};
  const { gates } = resolveFeatureGates(requested as Record<string, boolean>);
  return { config: applyDefaults(settings, gates), gates, host, standalone };
}

const invalid = 'invalid configuration: ';
const noShutdownGates =
  'featureGates: {GracefulNodeShutdown: false, GracefulNodeShutdownBasedOnPodPriority: false, WindowsGracefulNodeShutdown: false}';

describe('validateConfiguration refuses', () => {
  const rows: [body: string, problems: string[], host?: ConfiguredHost][] = [
    ['podLogsDir: /a/', [`${invalid}podLogsDir "/a/" must be normalized, without trailing slash`]],
    ['podLogsDir: /a/../b', [`${invalid}podLogsDir "/a/../b" must be normalized, without trailing slash`]],
    ['podLogsDir: /ä', [`${invalid}podLogsDir "/ä" must have ASCII characters only`]],
    ['port: -1', [`${invalid}port (--port) -1 must be between 1 and 65535, inclusive`]],
    ['port: 65536', [`${invalid}port (--port) 65536 must be between 1 and 65535, inclusive`]],
    [
      'readOnlyPort: -1',
      [`${invalid}readOnlyPort (--read-only-port) -1 must be between 0 and 65535, inclusive`],
    ],
    [
      'healthzPort: 70000',
      [`${invalid}healthzPort (--healthz-port) 70000 must be between 0 and 65535, inclusive`],
    ],
    [
      'oomScoreAdj: 1001',
      [`${invalid}oomScoreAdj (--oom-score-adj) 1001 must be between -1000 and 1000, inclusive`],
    ],
    [
      'oomScoreAdj: -1001',
      [`${invalid}oomScoreAdj (--oom-score-adj) -1001 must be between -1000 and 1000, inclusive`],
    ],
    [
      'tlsMinVersion: TLS1',
      [
        `${invalid}tlsMinVersion (--tls-min-version) "TLS1" must be one of "", "VersionTLS10", "VersionTLS11", "VersionTLS12" or "VersionTLS13"`,
      ],
    ],
    [
      'serverTLSBootstrap: true\nfeatureGates: {RotateKubeletServerCertificate: false}',
      [
        `${invalid}serverTLSBootstrap (--rotate-server-certificates) true requires feature gate RotateKubeletServerCertificate`,
      ],
    ],
    ['registryPullQPS: -1', [`${invalid}registryPullQPS (--registry-qps) -1 must not be a negative number`]],
    ['registryBurst: -1', [`${invalid}registryBurst (--registry-burst) -1 must not be a negative number`]],
    [
      'imagePullCredentialsVerificationPolicy: Foo',
      [
        `${invalid}imagePullCredentialsVerificationPolicy "Foo" must be one of "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages" or "AlwaysVerify"`,
      ],
    ],
    [
      'imagePullCredentialsVerificationPolicy: AlwaysVerify\nfeatureGates: {KubeletEnsureSecretPulledImages: false}',
      [
        `${invalid}imagePullCredentialsVerificationPolicy "AlwaysVerify" must not be set while feature gate KubeletEnsureSecretPulledImages is off`,
      ],
    ],
    [
      'preloadedImagesVerificationAllowlist: [a/b]',
      [
        `${invalid}preloadedImagesVerificationAllowlist must only be set with imagePullCredentialsVerificationPolicy "NeverVerifyAllowlistedImages"`,
      ],
    ],
    [
      'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: ["a/b:1"]',
      [`${invalid}preloadedImagesVerificationAllowlist entry "a/b:1" must have neither tag nor digest`],
    ],
    ['eventRecordQPS: -1', [`${invalid}eventRecordQPS (--event-qps) -1 must not be a negative number`]],
    ['eventBurst: -1', [`${invalid}eventBurst (--event-burst) -1 must not be a negative number`]],
    ['nodeLeaseDurationSeconds: -1', [`${invalid}nodeLeaseDurationSeconds -1 must be 1 or greater`]],
    [
      'imageMinimumGCAge: -1s',
      [`${invalid}imageMinimumGCAge (--minimum-image-ttl-duration) -1s must not be a negative number`],
    ],
    ['imageMaximumGCAge: -1s', [`${invalid}imageMaximumGCAge -1s must not be a negative number`]],
    [
      'imageMaximumGCAge: 2m',
      [
        `${invalid}imageMaximumGCAge 2m0s must be greater than imageMinimumGCAge (--minimum-image-ttl-duration) 2m0s`,
      ],
    ],
    [
      'imageGCHighThresholdPercent: 101',
      [
        `${invalid}imageGCHighThresholdPercent (--image-gc-high-threshold) 101 must be between 0 and 100, inclusive`,
      ],
    ],
    [
      'imageGCLowThresholdPercent: -1',
      [
        `${invalid}imageGCLowThresholdPercent (--image-gc-low-threshold) -1 must be between 0 and 100, inclusive`,
      ],
    ],
    [
      'imageGCLowThresholdPercent: 85',
      [
        `${invalid}imageGCLowThresholdPercent (--image-gc-low-threshold) 85 must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) 85`,
      ],
    ],
    [
      'systemCgroups: /x',
      [
        `${invalid}systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified`,
      ],
    ],
    [
      'cgroupsPerQOS: false',
      [
        `${invalid}cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained in enforceNodeAllocatable (--enforce-node-allocatable)`,
      ],
    ],
    [
      'singleProcessOOMKill: false\nfailCgroupV1: false',
      [`${invalid}singleProcessOOMKill must not be explicitly set to false when using cgroup v1`],
      { cgroupVersion: 1 },
    ],
    [
      'topologyManagerPolicy: foo',
      [
        `${invalid}topologyManagerPolicy (--topology-manager-policy) "foo" must be one of: ["none" "best-effort" "restricted" "single-numa-node"]`,
      ],
    ],
    [
      'topologyManagerScope: foo',
      [
        `${invalid}topologyManagerScope (--topology-manager-scope) "foo" must be one of: "container", or "pod"`,
      ],
    ],
    [
      'hairpinMode: foo',
      [
        `${invalid}hairpinMode (--hairpin-mode) "foo" must be one of "promiscuous-bridge", "hairpin-veth" or "none"`,
      ],
    ],
    ['maxPods: -1', [`${invalid}maxPods (--max-pods) -1 must not be a negative number`]],
    [
      'runOnce: true',
      [`${invalid}runOnce (--runonce) true must not be set, run-once mode does not exist any more`],
    ],
    [
      'cpuCFSQuotaPeriod: 2s',
      [`${invalid}cpuCFSQuotaPeriod (--cpu-cfs-quota-period) 2s must be between 1ms and 1s, inclusive`],
    ],
    [
      'cpuCFSQuotaPeriod: 0s',
      [`${invalid}cpuCFSQuotaPeriod (--cpu-cfs-quota-period) 0s must be between 1ms and 1s, inclusive`],
    ],
    [
      'cpuCFSQuotaPeriod: 10ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: false}',
      [
        `${invalid}cpuCFSQuotaPeriod (--cpu-cfs-quota-period) 10ms requires feature gate CustomCPUCFSQuotaPeriod`,
      ],
    ],
    [
      'nodeStatusMaxImages: -2',
      [`${invalid}nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater`],
    ],
    ['maxOpenFiles: -1', [`${invalid}maxOpenFiles (--max-open-files) -1 must not be a negative number`]],
    ['kubeAPIQPS: -1', [`${invalid}kubeAPIQPS (--kube-api-qps) -1 must not be a negative number`]],
    ['kubeAPIBurst: -1', [`${invalid}kubeAPIBurst (--kube-api-burst) -1 must not be a negative number`]],
    ['maxParallelImagePulls: 0', [`${invalid}maxParallelImagePulls 0 must be 1 or greater`]],
    [
      'maxParallelImagePulls: 5\nserializeImagePulls: true',
      [
        `${invalid}maxParallelImagePulls 5 must not be above 1 while serializeImagePulls (--serialize-image-pulls) is true`,
      ],
    ],
    ['podsPerCore: -1', [`${invalid}podsPerCore (--pods-per-core) -1 must not be a negative number`]],
    ['iptablesMasqueradeBit: 32', [`${invalid}iptablesMasqueradeBit 32 must be between 0 and 31, inclusive`]],
    ['iptablesDropBit: -1', [`${invalid}iptablesDropBit -1 must be between 0 and 31, inclusive`]],
    [
      'memorySwap: {swapBehavior: Foo}',
      [`${invalid}memorySwap.swapBehavior "Foo" must be one of: "", "LimitedSwap" or "NoSwap"`],
    ],
    [
      'memorySwap: {swapBehavior: LimitedSwap}\nfailCgroupV1: false',
      [`${invalid}swap feature is enabled and LimitedSwap but it is only supported with cgroupv2`],
      { cgroupVersion: 1 },
    ],
    [
      'containerLogMaxFiles: 1',
      [`${invalid}containerLogMaxFiles (--container-log-max-files) 1 must be 2 or greater`],
    ],
    ['containerLogMaxWorkers: 0', [`${invalid}containerLogMaxWorkers 0 must be 1 or greater`]],
    ['containerLogMonitorInterval: 1s', [`${invalid}containerLogMonitorInterval 1s must be 3s or greater`]],
    [
      'configMapAndSecretChangeDetectionStrategy: Poll',
      [`${invalid}configMapAndSecretChangeDetectionStrategy "Poll" must be one of "Get", "Cache" or "Watch"`],
    ],
    [
      'reservedSystemCPUs: 0-1\nkubeReservedCgroup: /x',
      [
        `${invalid}can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)`,
      ],
    ],
    [
      'reservedSystemCPUs: 4-2',
      [`${invalid}reservedSystemCPUs (--reserved-cpus) 4-2 must be a CPU list: invalid range "4-2" (4 > 2)`],
    ],
    [
      'showHiddenMetricsForVersion: "1.35"',
      [`invalid showHiddenMetricsForVersion: "1.35" must be omitted or have the value '1.36'`],
    ],
    [
      'enforceNodeAllocatable: [foo]',
      [
        `${invalid}option "foo" specified for enforceNodeAllocatable (--enforce-node-allocatable). Valid options are "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible" or "none"`,
      ],
    ],
    [
      'enforceNodeAllocatable: [pods, pods]',
      [`${invalid}duplicated enforcements "pods" in enforceNodeAllocatable (--enforce-node-allocatable)`],
    ],
    [
      'enforceNodeAllocatable: [none, pods]',
      [
        `${invalid}enforceNodeAllocatable (--enforce-node-allocatable) may not contain additional enforcements when "none" is specified`,
      ],
    ],
    [
      'enforceNodeAllocatable: [system-reserved]',
      [
        `${invalid}systemReservedCgroup (--system-reserved-cgroup) must be specified when "system-reserved" or "system-reserved-compressible" included in enforceNodeAllocatable (--enforce-node-allocatable)`,
      ],
    ],
    [
      'enforceNodeAllocatable: [kube-reserved-compressible]',
      [
        `${invalid}kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "kube-reserved" or "kube-reserved-compressible" included in enforceNodeAllocatable (--enforce-node-allocatable)`,
      ],
    ],
    [
      'enforceNodeAllocatable: [kube-reserved, kube-reserved-compressible]\nkubeReservedCgroup: /x',
      [
        `${invalid}both "kube-reserved" and "kube-reserved-compressible" cannot be specified together in enforceNodeAllocatable (--enforce-node-allocatable)`,
      ],
    ],
    ['logging: {format: xml}', ['logging.format: Invalid value: "xml": must be "text" or "json"']],
    [
      'logging: {flushFrequency: -1s}',
      ['logging.flushFrequency: Invalid value: "-1s": must be greater than zero'],
    ],
    [
      'logging: {format: json, vmodule: [{filePattern: a, verbosity: 1}]}',
      ['logging.vmodule: Forbidden: only supported for text log format'],
    ],
    [
      'logging: {vmodule: [{verbosity: 1}]}',
      ['logging.vmodule[0]: Required value: file pattern must not be empty'],
    ],
    [
      'logging: {vmodule: [{filePattern: "a=b"}]}',
      ['logging.vmodule[0]: Invalid value: "a=b": must not have an equal sign or comma'],
    ],
    [
      'logging: {options: {text: {splitStream: true}}}',
      ['logging.options.text.splitStream: Forbidden: requires feature gate LoggingAlphaOptions'],
    ],
    [
      'logging: {options: {json: {infoBufferSize: 1k}}}',
      ['logging.options.json.infoBufferSize: Forbidden: requires feature gate LoggingAlphaOptions'],
    ],
    [
      'logging: {format: json}\nfeatureGates: {LoggingBetaOptions: false}',
      ['logging.format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature'],
    ],
    [
      'enableSystemLogHandler: false\nenableSystemLogQuery: true',
      [`${invalid}enableSystemLogQuery true must come with enableSystemLogHandler true`],
    ],
    [
      'shutdownGracePeriod: 500ms',
      [`${invalid}shutdownGracePeriod {500ms} must be either zero or otherwise >= 1 sec`],
    ],
    [
      'shutdownGracePeriod: 5s\nshutdownGracePeriodCriticalPods: 500ms',
      [`${invalid}shutdownGracePeriodCriticalPods {500ms} must be either zero or otherwise >= 1 sec`],
    ],
    [
      'shutdownGracePeriodCriticalPods: 5s',
      [`${invalid}shutdownGracePeriodCriticalPods {5s} must be <= shutdownGracePeriod {0s}`],
    ],
    [
      `shutdownGracePeriod: 5s\n${noShutdownGates}`,
      [
        `${invalid}specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown`,
      ],
    ],
    [
      'shutdownGracePeriod: 5s\nshutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 5}]',
      [
        `${invalid}Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time`,
      ],
    ],
    [
      'shutdownGracePeriodByPodPriority: [{priority: 1}]\nfeatureGates: {GracefulNodeShutdownBasedOnPodPriority: false}',
      [
        `${invalid}Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority`,
      ],
    ],
    [
      'crashLoopBackOff: {maxContainerRestartPeriod: 301s}',
      [`${invalid}crashLoopBackOff.maxContainerRestartPeriod 5m1s must be between 1s and 300s, inclusive`],
    ],
    [
      'crashLoopBackOff: {maxContainerRestartPeriod: 0s}',
      [`${invalid}crashLoopBackOff.maxContainerRestartPeriod 0s must be between 1s and 300s, inclusive`],
    ],
    [
      'crashLoopBackOff: {maxContainerRestartPeriod: 10s}\nfeatureGates: {KubeletCrashLoopBackOffMax: false}',
      [
        `${invalid}crashLoopBackOff.maxContainerRestartPeriod must not be set while feature gate KubeletCrashLoopBackOffMax is off`,
      ],
    ],
    [
      'reservedMemory: [{numaNode: 0, limits: {cpu: 1}}]',
      [
        `${invalid}the limit type "cpu" for NUMA node 0 is not supported, only [memory hugepages-<HugePageSize>] is accepted in reservedMemory (--reserved-memory)`,
      ],
    ],
    [
      'reservedMemory: [{numaNode: 0, limits: {memory: 0}}]',
      [
        `${invalid}reserved memory may not be zero for NUMA node 0 and resource "memory" in reservedMemory (--reserved-memory)`,
      ],
    ],
    [
      'reservedMemory: [{limits: {memory: 1Gi}}, {limits: {memory: 2Gi}}]',
      [
        `${invalid}the reserved memory has a duplicate value for NUMA node 0 and resource "memory" in reservedMemory (--reserved-memory)`,
      ],
    ],
    [
      'enforceNodeAllocatable: [system-reserved, system-reserved-compressible]\nsystemReservedCgroup: /x',
      [
        `${invalid}both "system-reserved" and "system-reserved-compressible" cannot be specified together in enforceNodeAllocatable (--enforce-node-allocatable)`,
      ],
    ],
    [
      'memoryThrottlingFactor: 0\nfeatureGates: {MemoryQoS: true}',
      [`${invalid}memoryThrottlingFactor 0 must be greater than 0 and less than or equal to 1.0`],
    ],
    [
      'memoryThrottlingFactor: 1.1\nfeatureGates: {MemoryQoS: true}',
      [`${invalid}memoryThrottlingFactor 1.1 must be greater than 0 and less than or equal to 1.0`],
    ],
    [
      'memoryThrottlingFactor: 0.8\nfeatureGates: {MemoryQoS: false}',
      [`${invalid}memoryThrottlingFactor must not be set when MemoryQoS feature gate is disabled`],
    ],
    [
      'memoryThrottlingFactor: 0.5\nfeatureGates: {MemoryQoS: false}',
      [`${invalid}memoryThrottlingFactor must not be set when MemoryQoS feature gate is disabled`],
    ],
    [
      'defaultPodSysctls: {kernel.shmall: "1"}',
      [
        `${invalid}DefaultPodSysctls feature gate is required for Kubelet configuration option defaultPodSysctls`,
      ],
    ],
    [
      'defaultPodSysctls: {vm.swappiness: "1"}\nfeatureGates: {DefaultPodSysctls: true}',
      [`${invalid}"vm.swappiness" is not known to be namespaced for defaultPodSysctls`],
    ],
    [
      'defaultPodSysctls: {Net.Core: "1"}\nfeatureGates: {DefaultPodSysctls: true}',
      [`${invalid}"Net.Core" is not a valid sysctl name for defaultPodSysctls`],
    ],
    [
      'defaultPodSysctls: {kernel.shmall: "1", kernel/shmall: "2"}\nfeatureGates: {DefaultPodSysctls: true}',
      [`${invalid}duplicate sysctl "kernel.shmall" found in defaultPodSysctls`],
    ],
    [
      'memoryReservationPolicy: Foo',
      [
        `${invalid}option "Foo" specified for memoryReservationPolicy. Valid options are "None" or "TieredReservation"`,
      ],
    ],
    [
      'memoryReservationPolicy: TieredReservation\nfeatureGates: {MemoryQoS: false}',
      [`${invalid}memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled`],
    ],
    [
      'registerWithTaints: [{key: a, effect: NoSchedule, timeAdded: "2020-01-01T00:00:00Z"}]',
      [`${invalid}registerWithTaints: timeAdded of taint "a" must not be set`],
    ],
    [
      'registerWithTaints: [{key: a, effect: Foo}]',
      ['invalid taint: a=:Foo: effect must be one of NoSchedule, PreferNoSchedule, NoExecute'],
    ],
    [
      'registerWithTaints: [{effect: NoSchedule}]',
      ['invalid taint: =:NoSchedule: name part must not be empty'],
    ],
    [
      'registerWithTaints: [{key: a, value: "b c", effect: NoSchedule}]',
      [
        'invalid taint: a=b c:NoSchedule: value must be empty or alphanumeric characters, "-", "_" or ".", with an alphanumeric one at both ends',
      ],
    ],
    [
      'tracing: {samplingRatePerMillion: -1}',
      ['tracing.samplingRatePerMillion: Invalid value: -1: must be between 0 and 1000000, inclusive'],
    ],
    [
      'tracing: {samplingRatePerMillion: 1000001}',
      ['tracing.samplingRatePerMillion: Invalid value: 1000001: must be between 0 and 1000000, inclusive'],
    ],
    [
      'tracing: {endpoint: "http://a:1"}',
      [
        'tracing.endpoint: Invalid value: "http://a:1": unsupported scheme http, use none, dns, unix, unix-abstract',
      ],
    ],
    [
      'tracing: {endpoint: "a b"}',
      ['tracing.endpoint: Invalid value: "a b": must be an address such as localhost:4317'],
    ],
    ['userNamespaces: {idsPerPod: 5}', [`${invalid}userNamespaces.idsPerPod 5 must not be less than 65536`]],
    [
      'userNamespaces: {idsPerPod: 65537}',
      [`${invalid}userNamespaces.idsPerPod 65537 must be a multiple of 65536`],
    ],
    [
      'userNamespaces: {idsPerPod: 4294967296}',
      [`${invalid}userNamespaces.idsPerPod 4294967296 must not be more than 4294967295`],
    ],
    [
      'maxPods: 5',
      [
        'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release',
      ],
      { cgroupVersion: 1 },
    ],
  ];
  it.each(rows)('%s', (body, problems, host) => {
    expect(validateConfiguration(contextOf(body, host))).toEqual(problems);
  });
});

describe('validateConfiguration accepts', () => {
  const rows: string[] = [
    '',
    'readOnlyPort: 0',
    'healthzPort: 0',
    'tlsMinVersion: VersionTLS13',
    'imageMaximumGCAge: 3m',
    'systemCgroups: /x\ncgroupRoot: /y',
    'cgroupsPerQOS: false\nenforceNodeAllocatable: [none]',
    'cgroupsPerQOS: false\nenforceNodeAllocatable: []',
    'enforceNodeAllocatable: [pods, kube-reserved]\nkubeReservedCgroup: /x',
    'featureGates: {KubeletEnsureSecretPulledImages: false}',
    'featureGates: {KubeletCrashLoopBackOffMax: false}',
    'maxParallelImagePulls: 1\nserializeImagePulls: true',
    'shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s',
    'shutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 5}]',
    'showHiddenMetricsForVersion: "1.36"',
    'reservedMemory: [{limits: {memory: 1Gi}}, {limits: {hugepages-1Gi: 1Gi}}, {numaNode: 1, limits: {memory: 1Gi}}]',
    'registerWithTaints: [{key: example.com/a, value: b, effect: NoExecute}, {key: c}]',
    'tracing: {endpoint: "localhost:4317", samplingRatePerMillion: 1000000}',
    'tracing: {endpoint: "unix:///x"}',
    'tracing: {endpoint: "dns://1.1.1.1/localhost:4317"}',
    'userNamespaces: {idsPerPod: 131072}',
    'logging: {flushFrequency: 5000000000}',
    'logging: {options: {json: {splitStream: true}}}\nfeatureGates: {LoggingAlphaOptions: true}',
    'memoryReservationPolicy: TieredReservation\nfeatureGates: {MemoryQoS: true}',
    'memoryThrottlingFactor: 0.9\nfeatureGates: {MemoryQoS: false}',
    'defaultPodSysctls: {net.core.somaxconn: "9", kernel/shmall: "1", user.max_user_namespaces: "5", kernel.domainname: x}\nfeatureGates: {DefaultPodSysctls: true}',
    'memoryThrottlingFactor: 0.8\nfeatureGates: {MemoryQoS: true}',
  ];
  it.each(rows)('%s', (body) => {
    expect(validateConfiguration(contextOf(body))).toEqual([]);
  });
});

describe('constructionProblems', () => {
  const rows: [body: string, problems: string[], host?: ConfiguredHost, standalone?: boolean][] = [
    ['', []],
    ['syncFrequency: -1s', ['invalid sync frequency -1s']],
    ['authorization: {mode: Foo}', ['unknown authorization mode Foo']],
    [
      '',
      [
        'no client provided, cannot use webhook authentication',
        'no client provided, cannot use webhook authorization',
      ],
      {},
      true,
    ],
    ['authentication: {webhook: {enabled: false}}\nauthorization: {mode: AlwaysAllow}', [], {}, true],
    [
      'tlsCipherSuites: [FOO, TLS_AES_128_GCM_SHA256]',
      ['tlsCipherSuites (--tls-cipher-suites): cipher suite FOO is not supported or does not exist'],
    ],
    [
      'systemReserved: {foo: "1"}',
      ['--system-reserved value failed to parse: cannot reserve "foo" resource'],
    ],
    [
      'kubeReserved: {cpu: "-1"}',
      ['--kube-reserved value failed to parse: resource quantity for "cpu" cannot be negative: -1'],
    ],
    [
      'kubeReserved: {cpu: x}',
      ['--kube-reserved value failed to parse: "x" for "cpu" is not a quantity such as 500m or 1Gi'],
    ],
    ['systemReserved: {cpu: 100m, memory: 1Gi, ephemeral-storage: 1Gi, pid: "100"}', []],
    ['qosReserved: {memory: 50%}', []],
    [
      'qosReserved: {memory: "101%"}',
      ['--qos-reserved value failed to parse: percentage must be between 0 and 100'],
    ],
    ['qosReserved: {memory: "50"}', ["--qos-reserved value failed to parse: percentage expected, got '50'"]],
    [
      'qosReserved: {memory: "x%"}',
      ["--qos-reserved value failed to parse: invalid number in percentage 'x%'"],
    ],
    ['qosReserved: {cpu: 50%}', ['--qos-reserved value failed to parse: cannot reserve "cpu" resource']],
    ['evictionHard: {memory.available: 5%}\nevictionMinimumReclaim: {memory.available: 500Mi}', []],
    [
      'evictionHard: {memory.available: 150%, disk.available: 1Gi}',
      [
        'evictionHard (--eviction-hard): eviction percentage threshold memory.available must be <= 100%: 150%',
        'evictionHard (--eviction-hard): unsupported eviction signal disk.available',
      ],
    ],
    [
      'evictionSoft: {memory.available: 1Gi}',
      [
        'evictionSoftGracePeriod (--eviction-soft-grace-period): grace period must be specified for the soft eviction threshold memory.available',
      ],
    ],
    [
      'evictionMinimumReclaim: {memory.available: "-1"}',
      [
        'evictionMinimumReclaim (--eviction-minimum-reclaim): negative eviction minimum reclaim specified for memory.available',
      ],
    ],
    [
      'reservedSystemCPUs: 0-3',
      ['reserved-cpus: 0-3 is not a subset of online-cpus: 0-1'],
      { onlineCpus: [0, 1] },
    ],
    [
      'cpuManagerPolicy: foo',
      ['cpuManagerPolicy (--cpu-manager-policy): unknown policy: "foo", use none or static'],
    ],
    [
      'memoryManagerPolicy: static',
      ['memoryManagerPolicy (--memory-manager-policy): unknown policy: "static", use None or Static'],
    ],
    [
      'memoryManagerPolicy: BestEffort',
      [
        'memoryManagerPolicy (--memory-manager-policy): policy "BestEffort" is not available for platform "linux"',
      ],
    ],
    [
      'containerLogMaxSize: "-5Mi"',
      ['containerLogMaxSize (--container-log-max-size) -5Mi must not be negative'],
    ],
    ['allowedUnsafeSysctls: [net.core.somaxconn, "kernel.msg*", "net.*", net/ipv4/ip_forward]', []],
    [
      'allowedUnsafeSysctls: ["a*b"]',
      [
        'allowedUnsafeSysctls (--allowed-unsafe-sysctls): "a*b" is neither a sysctl name nor a prefix with * at its end',
      ],
    ],
  ];
  it.each(rows)('%s → %j', (body, problems, host, standalone) => {
    expect(constructionProblems(contextOf(body, host, standalone))).toEqual(problems);
  });
});

describe('imagePatternProblem', () => {
  const good = [
    'a',
    'a/*',
    'a/b/*',
    'A/b',
    'reg:5000/a',
    'reg:5000/*',
    'localhost/*',
    'example.com/library/a',
  ];
  it.each(good)('accepts %s', (pattern) => {
    expect(imagePatternProblem(pattern)).toBeUndefined();
  });
  const bad = [
    '',
    '*',
    '/*',
    'a/*/b',
    'a/*/*',
    'a/b*',
    'a//b',
    'a/b/',
    'a b',
    'reg:5000/a:1',
    'x@sha256:aa',
    'http://x/a',
  ];
  it.each(bad)('refuses "%s"', (pattern) => {
    expect(imagePatternProblem(pattern)).toBeDefined();
  });
});
