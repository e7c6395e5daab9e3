/** Finds settings that would make building the kubelet fail, before anything has started. */
import { formatDuration, parseQuantity, readEvictionThresholds, tryParseQuantity } from '../kube/index.js';
import { messageOf } from './config-error.js';
import { parseCpuSet } from './cpu-set.js';
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
    else if (!/^\d+%$/.test(share) || Number.parseInt(share, 10) > 100) {
      yield `--qos-reserved value failed to parse: "${share}" is not a percentage from 0% to 100%`;
    }
  }
  if (config.reservedSystemCPUs !== '' && host.onlineCpus !== undefined) {
    const online = new Set(host.onlineCpus);
    const missing = parseCpuSet(config.reservedSystemCPUs).filter((cpu) => !online.has(cpu));
    if (missing.length > 0) {
      yield `reservedSystemCPUs (--reserved-cpus) ${config.reservedSystemCPUs}: CPU ${missing.join(', ')} is not online`;
    }
  }
}

function* evictionProblems({ config }: RuleContext): Generator<string> {
  for (const { field, text } of readEvictionThresholds(config).problems) yield `${named(field)}: ${text}`;
}

function* managerProblems({ config }: RuleContext): Generator<string> {
  if (config.syncFrequency <= 0) yield `invalid sync frequency ${formatDuration(config.syncFrequency)}`;
  if (!['none', 'static'].includes(config.cpuManagerPolicy)) {
    yield `cpuManagerPolicy (--cpu-manager-policy): unknown policy: "${config.cpuManagerPolicy}", use none or static`;
  }
  if (!['None', 'Static'].includes(config.memoryManagerPolicy)) {
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
