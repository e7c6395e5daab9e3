import { describe, expect, it } from 'vitest';
import { guardedFiles, insecureSettings, type SecurityFacts } from './insecure-settings.js';
import { type LoadedConfiguration, loadConfiguration } from './load.js';

const header = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
/** As the agent loads it: `file` undefined is a start without `--config`. */
async function load(file: object | undefined, argv: readonly string[] = []): Promise<LoadedConfiguration> {
  const outcome = await loadConfiguration({
    argv: [...(file === undefined ? [] : ['--config=/kubelet.yaml']), '--fail-cgroupv1=false', ...argv],
    cwd: '/',
    readFile: async () => JSON.stringify({ ...header, ...file }),
    listDir: async () => [],
  });
  if (outcome.kind !== 'run') throw new Error(outcome.kind);
  return outcome;
}
const cluster = ['--kubeconfig=/kubelet.conf'];
const serving: SecurityFacts = { servesMainPort: true, files: [] };
const fieldsOf = (loaded: LoadedConfiguration, facts = serving, severities = ['open', 'weak']): string[] =>
  insecureSettings(loaded, facts)
    .filter(({ severity }) => severities.includes(severity))
    .map(({ field }) => field);

describe('insecureSettings', () => {
  it('reports the open defaults of the reference without --config, each with risk and fix', async () => {
    const told = insecureSettings(await load(undefined, cluster), serving);
    expect(told.filter(({ severity }) => severity === 'open').map(({ field }) => field)).toEqual([
      'authentication.anonymous.enabled',
      'authorization.mode',
      'enableDebuggingHandlers',
      'readOnlyPort',
    ]);
    for (const { risk, fix, value } of told) for (const text of [risk, fix, value]) expect(text).not.toBe('');
  });

  it('reports nothing open for an empty file', async () => {
    expect(fieldsOf(await load({}, cluster), serving, ['open'])).toEqual([]);
  });

  it('reports nothing for a hardened file', async () => {
    const hardened = {
      authentication: { x509: { clientCAFile: '/ca.crt' } },
      serverTLSBootstrap: true,
      rotateCertificates: true,
      seccompDefault: true,
      podPidsLimit: 4096,
    };
    expect(insecureSettings(await load(hardened, cluster), serving)).toEqual([]);
  });

  it('reports nothing about a main port that is not served', async () => {
    const told = fieldsOf(await load(undefined), { servesMainPort: false, files: [] });
    expect(told).toEqual(['readOnlyPort']);
  });

  const base = {
    authentication: { x509: { clientCAFile: '/ca.crt' } },
    serverTLSBootstrap: true,
    rotateCertificates: true,
  };
  it.each<[string, object, string]>([
    [
      'anonymous requests with webhook authorization',
      { authentication: { ...base.authentication, anonymous: { enabled: true } } },
      'authentication.anonymous.enabled',
    ],
    ['every request is authorized', { authorization: { mode: 'AlwaysAllow' } }, 'authorization.mode'],
    ['the read-only port', { readOnlyPort: 10255 }, 'readOnlyPort'],
    ['health endpoint open to other machines', { healthzBindAddress: '0.0.0.0' }, 'healthzBindAddress'],
    ['no client CA bundle', { authentication: {} }, 'authentication.x509.clientCAFile'],
    ['a self-signed serving certificate', { serverTLSBootstrap: false }, 'serverTLSBootstrap'],
    ['no certificate rotation', { rotateCertificates: false }, 'rotateCertificates'],
    ['an old TLS version', { tlsMinVersion: 'VersionTLS11' }, 'tlsMinVersion'],
    [
      'a suite without forward secrecy',
      { tlsCipherSuites: ['TLS_RSA_WITH_AES_128_GCM_SHA256'] },
      'tlsCipherSuites',
    ],
    ['a CBC suite', { tlsCipherSuites: ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA'] }, 'tlsCipherSuites'],
    ['no idle timeout', { streamingConnectionIdleTimeout: '0s', readOnlyPort: 0 }, ''],
    ['no packet rules', { makeIPTablesUtilChains: false }, 'makeIPTablesUtilChains'],
    ['unsafe sysctls', { allowedUnsafeSysctls: ['kernel.msg*'] }, 'allowedUnsafeSysctls'],
  ])('%s', async (_, change, field) => {
    // A zero in a file means the default, as in the reference. Only a flag sets a zero.
    const told = fieldsOf(await load({ ...base, ...change }, cluster));
    expect(told).toEqual(field === '' ? [] : [field]);
  });
  it('reports no idle timeout when the flag sets it to zero', async () => {
    const told = fieldsOf(await load(base, [...cluster, '--streaming-connection-idle-timeout=0s']));
    expect(told).toEqual(['streamingConnectionIdleTimeout']);
  });
  it.each([
    ['seccompDefault', {}],
    ['podPidsLimit', { seccompDefault: true }],
  ])('reports %s as advice', async (field, change) => {
    expect(fieldsOf(await load({ ...base, ...change }, cluster), serving, ['advice'])).toContain(field);
  });
});

describe('guarded files', () => {
  it('are the files that the settings name', async () => {
    const config = { staticPodPath: '/manifests', authentication: { x509: { clientCAFile: '/ca.crt' } } };
    const files = guardedFiles(await load(config, cluster));
    expect(files.map(({ field, allowed }) => `${field} ${allowed.toString(8)}`)).toEqual([
      '--kubeconfig 600',
      '--config 644',
      'authentication.x509.clientCAFile 644',
      'staticPodPath 755',
    ]);
  });
  it.each([
    ['the allowed mode', 0o600, 0o600, 0, []],
    ['a narrower mode', 0o644, 0o400, 0, []],
    ['readable by others', 0o600, 0o640, 0, ['others can read it']],
    ['writable by others', 0o644, 0o664, 0, ['others can change it']],
    ['a directory writable by others', 0o755, 0o40777, 0, ['others can change it']],
    ['owned by another user', 0o600, 0o600, 1000, ['its owner is not root and can change it']],
  ])('%s', async (_, allowed, mode, uid, risks) => {
    const files = [{ field: '--kubeconfig', path: '/k', allowed, mode, uid }];
    const told = insecureSettings(await load({}, cluster), { servesMainPort: false, files });
    expect(told.filter(({ field }) => field === '--kubeconfig').map(({ risk }) => risk)).toEqual(risks);
  });
});

/**
 * The worker node section of the CIS Kubernetes Benchmark. `file` and `none` say whether the effective value passes
 * with an empty file and without `--config`. A value that fails is the reference's default, and is reported.
 */
describe('CIS Kubernetes Benchmark 4.2', () => {
  type Config = LoadedConfiguration['config'];
  const checks: [
    id: string,
    rule: string,
    passes: (config: Config) => boolean,
    file: boolean,
    none: boolean,
    told: string,
  ][] = [
    [
      '4.2.1',
      'anonymous access is off',
      (c) => !c.authentication.anonymous.enabled,
      true,
      false,
      'authentication.anonymous.enabled',
    ],
    [
      '4.2.2',
      'requests are authorized',
      (c) => c.authorization.mode !== 'AlwaysAllow',
      true,
      false,
      'authorization.mode',
    ],
    [
      '4.2.3',
      'a client CA is set',
      (c) => c.authentication.x509.clientCAFile !== '',
      false,
      false,
      'authentication.x509.clientCAFile',
    ],
    ['4.2.4', 'the read-only port is closed', (c) => c.readOnlyPort === 0, true, false, 'readOnlyPort'],
    ['4.2.5', 'idle streams time out', (c) => c.streamingConnectionIdleTimeout > 0, true, true, ''],
    ['4.2.6', 'iptables chains are maintained', (c) => c.makeIPTablesUtilChains, true, true, ''],
    ['4.2.8', 'the rate of events is limited', (c) => c.eventRecordQPS > 0, true, true, ''],
    [
      '4.2.9',
      'a serving certificate is set',
      (c) => c.tlsCertFile !== '' || c.serverTLSBootstrap,
      false,
      false,
      'serverTLSBootstrap',
    ],
    ['4.2.10', 'client certificates rotate', (c) => c.rotateCertificates, false, false, 'rotateCertificates'],
    [
      '4.2.12',
      'no weak suite is chosen',
      (c) => c.tlsCipherSuites.length === 0 && ['', 'VersionTLS12'].includes(c.tlsMinVersion),
      true,
      true,
      '',
    ],
    ['4.2.13', 'processes of a pod are limited', (c) => c.podPidsLimit > 0, false, false, 'podPidsLimit'],
    ['4.2.14', 'seccomp is on by default', (c) => c.seccompDefault, false, false, 'seccompDefault'],
  ];
  it.each(checks)('%s %s', async (_id, _rule, passes, file, none, told) => {
    for (const [given, expected] of [
      [{}, file],
      [undefined, none],
    ] as const) {
      const loaded = await load(given, cluster);
      expect(passes(loaded.config)).toBe(expected);
      const fields = insecureSettings(loaded, serving).map(({ field }) => field);
      if (!expected) expect(fields).toContain(told);
    }
  });
  it('4.2.11 the gate for server certificate rotation is on', async () => {
    expect((await load({}, cluster)).featureGates.enabled('RotateKubeletServerCertificate')).toBe(true);
  });
});
