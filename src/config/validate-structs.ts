/** Validation rules of the structured settings: logging, tracing, taints, memory and sysctls. */
import { formatDuration, normalizeSysctl, parseQuantity, sysctlNamespace } from '../kube/index.js';
import { labelKeyProblems, labelValueProblems } from './label-syntax.js';
import { named, type RuleContext } from './rule-context.js';

const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const tracingSchemes = ['dns', 'unix', 'unix-abstract'];

export function* loggingProblems({ config, gates }: RuleContext): Generator<string> {
  const { format, flushFrequency, vmodule, options } = config.logging;
  const formatText: string = format;
  if (formatText !== 'text' && formatText !== 'json') {
    yield `logging.format: Invalid value: "${formatText}": must be "text" or "json"`;
  }
  if (formatText === 'json' && !gates.enabled('LoggingBetaOptions')) {
    yield 'logging.format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature';
  }
  if (flushFrequency <= 0) {
    yield `logging.flushFrequency: Invalid value: "${formatDuration(flushFrequency)}": must be greater than zero`;
  }
  if (vmodule.length > 0 && formatText !== 'text') {
    yield 'logging.vmodule: Forbidden: only supported for text log format';
  }
  for (const [index, { filePattern }] of vmodule.entries()) {
    if (filePattern === '') yield `logging.vmodule[${index}]: Required value: file pattern must not be empty`;
    else if (/[=,]/.test(filePattern)) {
      yield `logging.vmodule[${index}]: Invalid value: "${filePattern}": must not have an equal sign or comma`;
    }
  }
  if (gates.enabled('LoggingAlphaOptions')) return;
  for (const name of ['text', 'json'] as const) {
    const { splitStream, infoBufferSize } = options[name];
    const forbidden = 'Forbidden: requires feature gate LoggingAlphaOptions';
    if (splitStream) yield `logging.options.${name}.splitStream: ${forbidden}`;
    if (parseQuantity(infoBufferSize).nanos !== 0n) {
      yield `logging.options.${name}.infoBufferSize: ${forbidden}`;
    }
  }
}

export function* tracingProblems({ config }: RuleContext): Generator<string> {
  const rate = config.tracing?.samplingRatePerMillion;
  if (rate !== undefined && (rate < 0 || rate > 1_000_000)) {
    yield `tracing.samplingRatePerMillion: Invalid value: ${rate}: must be between 0 and 1000000, inclusive`;
  }
  const endpoint = config.tracing?.endpoint;
  if (endpoint === undefined || endpoint === '') return;
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(endpoint)?.[1]?.toLowerCase();
  const isKnown =
    scheme === undefined || tracingSchemes.includes(scheme) || /^unix(-abstract)?:/.test(endpoint);
  if (!isKnown) {
    yield `tracing.endpoint: Invalid value: "${endpoint}": unsupported scheme ${scheme}, use none, ${tracingSchemes.join(', ')}`;
  } else if (/[\s"<>\\^`{|}]/.test(endpoint)) {
    yield `tracing.endpoint: Invalid value: "${endpoint}": must be an address such as localhost:4317`;
  }
}

export function* taintProblems({ config }: RuleContext): Generator<string> {
  for (const taint of config.registerWithTaints) {
    if (taint.timeAdded !== undefined) {
      yield `invalid configuration: registerWithTaints: timeAdded of taint "${taint.key}" must not be set`;
    }
    const problems = [...labelKeyProblems(taint.key), ...labelValueProblems(taint.value ?? '')];
    if (taint.effect !== '' && !taintEffects.includes(taint.effect)) {
      problems.push(`effect must be one of ${taintEffects.join(', ')}`);
    }
    if (problems.length > 0) {
      yield `invalid taint: ${taint.key}=${taint.value ?? ''}:${taint.effect}: ${problems.join('; ')}`;
    }
  }
}

export function* memoryProblems({ config, gates }: RuleContext): Generator<string> {
  const { memoryThrottlingFactor: factor } = config;
  // A file can hold any string; this rule checks it.
  const policy: string = config.memoryReservationPolicy;
  const isOn = gates.enabled('MemoryQoS');
  if (factor !== undefined) {
    // Older kubelets wrote this factor into every configuration.
    if (!isOn && factor !== 0.9)
      yield 'memoryThrottlingFactor must not be set when MemoryQoS feature gate is disabled';
    if (!(factor > 0 && factor <= 1))
      yield `memoryThrottlingFactor ${factor} must be greater than 0 and less than or equal to 1.0`;
  }
  if (policy === 'TieredReservation') {
    if (!isOn)
      yield 'memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled';
  } else if (policy !== 'None') {
    yield `option "${policy}" specified for memoryReservationPolicy. Valid options are "None" or "TieredReservation"`;
  }
  const field = named('reservedMemory');
  const seen = new Set<string>();
  for (const { numaNode, limits } of config.reservedMemory) {
    for (const [type, amount] of Object.entries(limits)) {
      const place = `for NUMA node ${numaNode}`;
      const resource = `${place} and resource "${type}" in ${field}`;
      if (type !== 'memory' && !type.startsWith('hugepages-')) {
        yield `the limit type "${type}" ${place} is not supported, only [memory hugepages-<HugePageSize>] is accepted in ${field}`;
      }
      if (parseQuantity(amount).nanos === 0n) yield `reserved memory may not be zero ${resource}`;
      const key = `${numaNode} ${type}`;
      if (seen.has(key)) yield `the reserved memory has a duplicate value ${resource}`;
      seen.add(key);
    }
  }
}

const maxSysctlNameLength = 253;
const sysctlName = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;

export function* sysctlProblems({ config, gates }: RuleContext): Generator<string> {
  const names = Object.keys(config.defaultPodSysctls);
  if (names.length === 0) return;
  if (!gates.enabled('DefaultPodSysctls')) {
    yield 'DefaultPodSysctls feature gate is required for Kubelet configuration option defaultPodSysctls';
    return;
  }
  const seen = new Set<string>();
  for (const name of names) {
    if (name.length > maxSysctlNameLength || !sysctlName.test(name)) {
      yield `"${name}" is not a valid sysctl name for defaultPodSysctls`;
      continue;
    }
    const normal = normalizeSysctl(name);
    if (sysctlNamespace(normal) === undefined)
      yield `"${name}" is not known to be namespaced for defaultPodSysctls`;
    if (seen.has(normal)) yield `duplicate sysctl "${normal}" found in defaultPodSysctls`;
    seen.add(normal);
  }
}
