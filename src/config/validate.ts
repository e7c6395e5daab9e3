/** Validates a complete configuration and finds all violations. */
import { CpuSet, formatDuration } from '../kube/index.js';
import { messageOf } from './config-error.js';
import { readPath } from './config-path.js';
import { type ConfigField, configFields, type FieldRule } from './fields.js';
import { imagePatternProblem } from './image-pattern.js';
import { alternatives, named, type RuleContext } from './rule-context.js';
import {
  loggingProblems,
  memoryProblems,
  sysctlProblems,
  taintProblems,
  tracingProblems,
} from './validate-structs.js';

const previousMinorVersion = '1.36';
const minIdsPerPod = 65_536;
const maxIdsPerPod = 2 ** 32 - 1;
const defaultCpuCfsQuotaPeriodMs = 100;

type ConfigRule = (context: RuleContext) => Iterable<string>;

/** Returns the violations as texts; empty when the configuration is valid. */
export function validateConfiguration(context: RuleContext): string[] {
  const problems: string[] = [];
  for (const field of configFields) {
    const text = fieldProblem(field, readPath(context.config, field.path));
    if (text !== undefined) problems.push(`invalid configuration: ${text}`);
  }
  for (const rule of rules) {
    for (const text of rule(context)) problems.push(`invalid configuration: ${text}`);
  }
  for (const rule of otherRules) problems.push(...rule(context));
  return problems;
}

/** Returns warnings about valid but doubtful settings. */
export function configurationWarnings({ config }: RuleContext): string[] {
  const { kubeletCgroups, kubeReservedCgroup } = config;
  if (kubeletCgroups !== '' && kubeReservedCgroup !== '' && !kubeletCgroups.startsWith(kubeReservedCgroup)) {
    return [`kubeletCgroups ${kubeletCgroups} is not within kubeReservedCgroup ${kubeReservedCgroup}`];
  }
  return [];
}

function fieldProblem(field: ConfigField, value: unknown): string | undefined {
  if (field.rule === undefined || value === undefined) return undefined;
  const { rule } = field;
  if (rule.kind === 'oneOf') {
    if (typeof value !== 'string' || rule.values.includes(value)) return undefined;
    const choice = rule.listed === undefined ? ` ${alternatives(rule.values)}` : `: ${rule.listed}`;
    return `${named(field.path)} "${value}" must be one of${choice}`;
  }
  if (typeof value !== 'number') return undefined;
  const limit = brokenLimit(rule, value, field.kind === 'duration');
  const shown = field.kind === 'duration' ? formatDuration(value) : String(value);
  return limit === undefined ? undefined : `${named(field.path)} ${shown} must ${limit}`;
}

function brokenLimit(
  rule: Exclude<FieldRule, { kind: 'oneOf' }>,
  value: number,
  isDuration: boolean,
): string | undefined {
  const show = (limit: number) => (isDuration ? formatDuration(limit) : String(limit));
  switch (rule.kind) {
    case 'between':
      if (value >= rule.min && value <= rule.max) return undefined;
      return `be between ${show(rule.min)} and ${show(rule.max)}, inclusive`;
    case 'atLeast':
      if (value >= rule.min) return undefined;
      return rule.min === 0 ? 'not be a negative number' : `be ${show(rule.min)} or greater`;
  }
}

const rules: readonly ConfigRule[] = [
  podLogsDirRule,
  function* serverCertificate({ config, gates }) {
    if (config.serverTLSBootstrap && !gates.enabled('RotateKubeletServerCertificate')) {
      yield `${named('serverTLSBootstrap')} true requires feature gate RotateKubeletServerCertificate`;
    }
  },
  imageVerificationRule,
  function* imageCollection({ config }) {
    const { imageMinimumGCAge, imageMaximumGCAge } = config;
    if (imageMaximumGCAge > 0 && imageMaximumGCAge <= imageMinimumGCAge) {
      yield `imageMaximumGCAge ${formatDuration(imageMaximumGCAge)} must be greater than ${named('imageMinimumGCAge')} ${formatDuration(imageMinimumGCAge)}`;
    }
    const { imageGCLowThresholdPercent: low, imageGCHighThresholdPercent: high } = config;
    if (low >= high) {
      yield `${named('imageGCLowThresholdPercent')} ${low} must be less than ${named('imageGCHighThresholdPercent')} ${high}`;
    }
  },
  function* imagePulls({ config }) {
    if ((config.maxParallelImagePulls ?? 1) > 1 && config.serializeImagePulls) {
      yield `maxParallelImagePulls ${config.maxParallelImagePulls} must not be above 1 while ${named('serializeImagePulls')} is true`;
    }
  },
  function* systemCgroups({ config }) {
    if (config.systemCgroups !== '' && config.cgroupRoot === '') {
      yield `${named('systemCgroups')} was specified and ${named('cgroupRoot')} was not specified`;
    }
  },
  function* runOnce({ config }) {
    if (config.runOnce)
      yield `${named('runOnce')} true must not be set, run-once mode does not exist any more`;
  },
  function* cpuQuota({ config, gates }) {
    const isCustom = config.cpuCFSQuotaPeriod !== defaultCpuCfsQuotaPeriodMs;
    if (isCustom && !gates.enabled('CustomCPUCFSQuotaPeriod')) {
      yield `${named('cpuCFSQuotaPeriod')} ${formatDuration(config.cpuCFSQuotaPeriod)} requires feature gate CustomCPUCFSQuotaPeriod`;
    }
  },
  enforcementRule,
  function* reservedCpus({ config }) {
    if (config.reservedSystemCPUs === '') return;
    if (config.systemReservedCgroup !== '' || config.kubeReservedCgroup !== '') {
      yield `can't use ${named('reservedSystemCPUs')} with ${named('systemReservedCgroup')} or ${named('kubeReservedCgroup')}`;
    }
    try {
      CpuSet.parse(config.reservedSystemCPUs);
    } catch (thrown) {
      yield `${named('reservedSystemCPUs')} ${config.reservedSystemCPUs} must be a CPU list: ${messageOf(thrown)}`;
    }
  },
  function* systemLog({ config }) {
    if (config.enableSystemLogQuery && !config.enableSystemLogHandler) {
      yield 'enableSystemLogQuery true must come with enableSystemLogHandler true';
    }
  },
  shutdownRule,
  function* crashLoop({ config, gates }) {
    const period = config.crashLoopBackOff.maxContainerRestartPeriod;
    if (period === undefined) return;
    if (!gates.enabled('KubeletCrashLoopBackOffMax')) {
      yield 'crashLoopBackOff.maxContainerRestartPeriod must not be set while feature gate KubeletCrashLoopBackOffMax is off';
    } else if (period < 1000 || period > 300_000) {
      yield `crashLoopBackOff.maxContainerRestartPeriod ${formatDuration(period)} must be between 1s and 300s, inclusive`;
    }
  },
  memoryProblems,
  sysctlProblems,
  function* runtimeEndpoint({ config }) {
    if (config.containerRuntimeEndpoint === '')
      yield `${named('containerRuntimeEndpoint')} must not be empty`;
  },
  function* userNamespaces({ config }) {
    const ids = config.userNamespaces?.idsPerPod;
    if (ids === undefined) return;
    if (ids < minIdsPerPod) yield `userNamespaces.idsPerPod ${ids} must not be less than ${minIdsPerPod}`;
    else if (ids > maxIdsPerPod)
      yield `userNamespaces.idsPerPod ${ids} must not be more than ${maxIdsPerPod}`;
    else if (ids % minIdsPerPod !== 0) {
      yield `userNamespaces.idsPerPod ${ids} must be a multiple of ${minIdsPerPod}`;
    }
  },
  function* swap({ config }) {
    const behavior: string = config.memorySwap.swapBehavior;
    if (!['', 'LimitedSwap', 'NoSwap'].includes(behavior))
      yield `memorySwap.swapBehavior "${behavior}" must be one of: "", "LimitedSwap" or "NoSwap"`;
  },
  function* cgroupVersion({ config, host }) {
    if (host.cgroupVersion !== 1) return;
    if (config.singleProcessOOMKill === false)
      yield 'singleProcessOOMKill must not be explicitly set to false when using cgroup v1';
    if (config.memorySwap.swapBehavior === 'LimitedSwap') {
      yield 'swap feature is enabled and LimitedSwap but it is only supported with cgroupv2';
    }
  },
];

/** Rules whose texts do not all start with `invalid configuration`. */
const otherRules: readonly ConfigRule[] = [
  loggingProblems,
  tracingProblems,
  taintProblems,
  function* hiddenMetrics({ config }) {
    const version = config.showHiddenMetricsForVersion;
    if (version !== '' && version !== previousMinorVersion) {
      yield `invalid showHiddenMetricsForVersion: "${version}" must be omitted or have the value '${previousMinorVersion}'`;
    }
  },
  function* staticPodUrl({ config: { staticPodURL: url } }) {
    if (url !== '' && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol))) {
      yield 'invalid configuration: staticPodURL (--manifest-url) must be an http or https URL, such as http://127.0.0.1/pods';
    }
  },
  function* cgroupV1({ config, host }) {
    if (host.cgroupVersion === 1 && config.failCgroupV1) {
      yield 'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release';
    }
  },
];

function* podLogsDirRule({ config }: RuleContext): Generator<string> {
  const { podLogsDir } = config;
  if (podLogsDir === '') yield 'podLogsDir must not be empty';
  else if (!podLogsDir.startsWith('/')) yield `podLogsDir "${podLogsDir}" must be an absolute path`;
  else if (
    podLogsDir !== '/' &&
    podLogsDir
      .slice(1)
      .split('/')
      .some((part) => ['', '.', '..'].includes(part))
  ) {
    yield `podLogsDir "${podLogsDir}" must be normalized, without trailing slash`;
  }
  if ([...podLogsDir].some((letter) => letter.charCodeAt(0) > 127)) {
    yield `podLogsDir "${podLogsDir}" must have ASCII characters only`;
  }
}

function* imageVerificationRule({ config, gates }: RuleContext): Generator<string> {
  const policy = config.imagePullCredentialsVerificationPolicy;
  const allowlist = config.preloadedImagesVerificationAllowlist;
  if (!gates.enabled('KubeletEnsureSecretPulledImages')) {
    const without = 'must not be set while feature gate KubeletEnsureSecretPulledImages is off';
    if (policy !== '') yield `imagePullCredentialsVerificationPolicy "${policy}" ${without}`;
    if (allowlist.length > 0) yield `preloadedImagesVerificationAllowlist ${without}`;
    return;
  }
  const policies = [
    'NeverVerify',
    'NeverVerifyPreloadedImages',
    'NeverVerifyAllowlistedImages',
    'AlwaysVerify',
  ];
  if (!policies.includes(policy)) {
    yield `imagePullCredentialsVerificationPolicy "${policy}" must be one of ${alternatives(policies)}`;
  }
  if (allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages') {
    yield 'preloadedImagesVerificationAllowlist must only be set with imagePullCredentialsVerificationPolicy "NeverVerifyAllowlistedImages"';
  }
  for (const pattern of allowlist) {
    const problem = imagePatternProblem(pattern);
    if (problem !== undefined) yield `preloadedImagesVerificationAllowlist entry ${problem}`;
  }
}

function* enforcementRule({ config }: RuleContext): Generator<string> {
  const field = named('enforceNodeAllocatable');
  // A file can hold any strings; this rule checks them.
  const levels: readonly string[] = config.enforceNodeAllocatable;
  const known = [
    'pods',
    'system-reserved',
    'system-reserved-compressible',
    'kube-reserved',
    'kube-reserved-compressible',
    'none',
  ];
  for (const level of new Set(levels)) {
    if (!known.includes(level))
      yield `option "${level}" specified for ${field}. Valid options are ${alternatives(known)}`;
    else if (level !== 'none' && !config.cgroupsPerQOS) {
      yield `${named('cgroupsPerQOS')} must be set to true when "${level}" contained in ${field}`;
    }
    if (levels.filter((other) => other === level).length > 1) {
      yield `duplicated enforcements "${level}" in ${field}`;
    }
  }
  if (levels.includes('none') && levels.some((level) => level !== 'none')) {
    yield `${field} may not contain additional enforcements when "none" is specified`;
  }
  for (const scope of ['system', 'kube'] as const) {
    const plain = `${scope}-reserved`;
    const compressible = `${plain}-compressible`;
    if (levels.includes(plain) && levels.includes(compressible)) {
      yield `both "${plain}" and "${compressible}" cannot be specified together in ${field}`;
    }
    const cgroup = `${scope}ReservedCgroup` as const;
    if ((levels.includes(plain) || levels.includes(compressible)) && config[cgroup] === '') {
      yield `${named(cgroup)} must be specified when "${plain}" or "${compressible}" included in ${field}`;
    }
  }
}

function* shutdownRule({ config, gates }: RuleContext): Generator<string> {
  const total = config.shutdownGracePeriod;
  const critical = config.shutdownGracePeriodCriticalPods;
  const byPriority = config.shutdownGracePeriodByPodPriority;
  // The reference prints these durations in braces.
  const shown = (durationMs: number): string => `{${formatDuration(durationMs)}}`;
  if (byPriority.length > 0 && (total !== 0 || critical !== 0)) {
    yield 'Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time';
  }
  if (critical > total) {
    yield `shutdownGracePeriodCriticalPods ${shown(critical)} must be <= shutdownGracePeriod ${shown(total)}`;
  }
  if (total !== 0 && total < 1000) {
    yield `shutdownGracePeriod ${shown(total)} must be either zero or otherwise >= 1 sec`;
  }
  if (critical !== 0 && critical < 1000) {
    yield `shutdownGracePeriodCriticalPods ${shown(critical)} must be either zero or otherwise >= 1 sec`;
  }
  if ((total > 0 || critical > 0) && !gates.enabled('GracefulNodeShutdown')) {
    yield 'specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown';
  }
  if (byPriority.length > 0 && !gates.enabled('GracefulNodeShutdownBasedOnPodPriority')) {
    yield 'Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority';
  }
}
