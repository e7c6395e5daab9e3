/** Finds settings that would make building the kubelet fail, before anything has started. */
import {
  CpuSet,
  formatDuration,
  parseQuantity,
  readEvictionThresholds,
  tryParseQuantity,
} from '../kube/index.js';
import { messageOf } from './config-error.js';
import { named, type RuleContext } from './rule-context.js';

const reservableResources: readonly string[] = ['cpu', 'memory', 'ephemeral-storage', 'pid'];
const sysctlPattern =
  /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9]([-_a-z0-9]*[a-z0-9])?|([a-z0-9][-_a-z0-9]*)?\*)$/;

/** IANA names of the TLS 1.2 and 1.3 cipher suites that a server can use. */
const cipherSuites: ReadonlySet<string> = new Set([
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA',
  'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_ECDSA_WITH_RC4_128_SHA',
  'TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA',
  'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA',
  'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_RSA_WITH_RC4_128_SHA',
  'TLS_RSA_WITH_3DES_EDE_CBC_SHA',
  'TLS_RSA_WITH_AES_128_CBC_SHA',
  'TLS_RSA_WITH_AES_128_CBC_SHA256',
  'TLS_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_RSA_WITH_AES_256_CBC_SHA',
  'TLS_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_RSA_WITH_RC4_128_SHA',
]);

/** Returns the problems as texts; empty when the kubelet can be built. */
export function constructionProblems(context: RuleContext): string[] {
  return [
    ...serverProblems(context),
    ...reservationProblems(context),
    ...evictionProblems(context),
    ...managerProblems(context),
  ];
}

function* serverProblems({ config, standalone }: RuleContext): Generator<string> {
  for (const name of config.tlsCipherSuites) {
    if (!cipherSuites.has(name))
      yield `tlsCipherSuites (--tls-cipher-suites): cipher suite ${name} is not supported or does not exist`;
  }
  if (standalone && config.authentication.webhook.enabled) {
    yield 'no client provided, cannot use webhook authentication';
  }
  // A file can hold any string; this rule checks it.
  const mode: string = config.authorization.mode;
  if (mode !== 'AlwaysAllow' && mode !== 'Webhook') yield `unknown authorization mode ${mode}`;
  else if (mode === 'Webhook' && standalone) yield 'no client provided, cannot use webhook authorization';
}

function* reservationProblems({ config, host }: RuleContext): Generator<string> {
  for (const [flag, list] of [
    ['kube-reserved', config.kubeReserved],
    ['system-reserved', config.systemReserved],
  ] as const) {
    for (const [resource, amount] of Object.entries(list)) {
      if (!reservableResources.includes(resource)) {
        yield `--${flag} value failed to parse: cannot reserve "${resource}" resource`;
        continue;
      }
      const quantity = tryParseQuantity(amount);
      if (quantity === undefined) {
        yield `--${flag} value failed to parse: "${amount}" for "${resource}" is not a quantity such as 500m or 1Gi`;
      } else if (quantity.nanos < 0n) {
        yield `--${flag} value failed to parse: resource quantity for "${resource}" cannot be negative: ${amount}`;
      }
    }
  }
  for (const [resource, share] of Object.entries(config.qosReserved)) {
    if (resource !== 'memory')
      yield `--qos-reserved value failed to parse: cannot reserve "${resource}" resource`;
    else {
      const problem = percentageProblem(share);
      if (problem !== undefined) yield `--qos-reserved value failed to parse: ${problem}`;
    }
  }
  if (config.reservedSystemCPUs !== '' && host.onlineCpus !== undefined) {
    const online = CpuSet.of(host.onlineCpus);
    const reserved = CpuSet.parse(config.reservedSystemCPUs);
    if (!reserved.isSubsetOf(online)) {
      yield `reserved-cpus: ${reserved} is not a subset of online-cpus: ${online}`;
    }
  }
}

function* evictionProblems({ config }: RuleContext): Generator<string> {
  for (const { field, text } of readEvictionThresholds(config).problems) yield `${named(field)}: ${text}`;
}

function percentageProblem(share: string): string | undefined {
  if (!share.endsWith('%')) return `percentage expected, got '${share}'`;
  const digits = share.slice(0, -1);
  if (!/^[+-]?\d+$/.test(digits)) return `invalid number in percentage '${share}'`;
  const percent = Number(digits);
  return percent < 0 || percent > 100 ? 'percentage must be between 0 and 100' : undefined;
}

function* managerProblems({ config }: RuleContext): Generator<string> {
  if (config.syncFrequency <= 0) yield `invalid sync frequency ${formatDuration(config.syncFrequency)}`;
  if (!['none', 'static'].includes(config.cpuManagerPolicy)) {
    yield `cpuManagerPolicy (--cpu-manager-policy): unknown policy: "${config.cpuManagerPolicy}", use none or static`;
  }
  if (config.memoryManagerPolicy === 'BestEffort') {
    yield 'memoryManagerPolicy (--memory-manager-policy): policy "BestEffort" is not available for platform "linux"';
  } else if (!['None', 'Static'].includes(config.memoryManagerPolicy)) {
    yield `memoryManagerPolicy (--memory-manager-policy): unknown policy: "${config.memoryManagerPolicy}", use None or Static`;
  }
  try {
    const size = parseQuantity(config.containerLogMaxSize);
    if (size.nanos < 0n)
      yield `containerLogMaxSize (--container-log-max-size) ${config.containerLogMaxSize} must not be negative`;
  } catch (thrown) {
    yield `containerLogMaxSize (--container-log-max-size) "${config.containerLogMaxSize}": ${messageOf(thrown)}`;
  }
  for (const pattern of config.allowedUnsafeSysctls) {
    if (!sysctlPattern.test(pattern)) {
      yield `allowedUnsafeSysctls (--allowed-unsafe-sysctls): "${pattern}" is neither a sysctl name nor a prefix with * at its end`;
    }
  }
}
