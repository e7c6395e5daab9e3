/** Finds settings that make the node less secure than it could be: the risk of each, and what to set instead. */
import type { LoadedConfiguration } from './load.js';
import type { KubeletConfiguration } from './types.js';

export interface InsecureSetting {
  /** A path of the configuration, or a flag. */
  readonly field: string;
  readonly value: string;
  /**
   * `open`: anyone can connect or read. `weak`: a protection is weaker than it could be. `advice`: a default of the
   * reference that hardening guides change.
   */
  readonly severity: 'open' | 'weak' | 'advice';
  readonly risk: string;
  readonly fix: string;
}

/** A file or directory whose permissions matter for the node's security. */
export interface GuardedFile {
  /** The setting that names the path. */
  readonly field: string;
  readonly path: string;
  /** The widest mode that is safe. */
  readonly allowed: number;
}

export interface GuardedFileState extends GuardedFile {
  readonly mode: number;
  readonly uid: number;
}

export interface SecurityFacts {
  /** The kubelet serves its main port. */
  readonly servesMainPort: boolean;
  readonly files: readonly GuardedFileState[];
}

export type JudgedConfiguration = Pick<LoadedConfiguration, 'config' | 'flags' | 'standalone'>;

/** In the order of the table, the most open settings first. */
export function insecureSettings(loaded: JudgedConfiguration, facts: SecurityFacts): InsecureSetting[] {
  const settings = rules.flatMap(({ field, severity, value, risk, fix, when }) => {
    if (!when(loaded, facts)) return [];
    return [
      {
        field,
        severity: typeof severity === 'function' ? severity(loaded.config) : severity,
        value: value(loaded.config),
        risk,
        fix,
      },
    ];
  });
  return [...settings, ...facts.files.flatMap(wideFile)];
}

/** The files to check on the machine. */
export function guardedFiles({
  config,
  flags,
}: Pick<JudgedConfiguration, 'config' | 'flags'>): GuardedFile[] {
  const secret = 0o600;
  const readable = 0o644;
  const directory = 0o755;
  const named: readonly (readonly [field: string, path: string, allowed: number])[] = [
    ['--kubeconfig', flags.kubeconfig, secret],
    ['--bootstrap-kubeconfig', flags.bootstrapKubeconfig, secret],
    ['tlsPrivateKeyFile', config.tlsPrivateKeyFile, secret],
    ['--config', flags.config, readable],
    ['tlsCertFile', config.tlsCertFile, readable],
    ['authentication.x509.clientCAFile', config.authentication.x509.clientCAFile, readable],
    ['staticPodPath', config.staticPodPath, directory],
  ];
  return named.flatMap(([field, path, allowed]) => (path === '' ? [] : [{ field, path, allowed }]));
}

function wideFile({ field, path, allowed, mode, uid }: GuardedFileState): InsecureSetting[] {
  const extra = mode & 0o777 & ~allowed;
  const found: InsecureSetting[] = [];
  if (extra !== 0) {
    const isWritable = (extra & 0o022) !== 0;
    found.push({
      field,
      value: `${path} with mode ${octal(mode)}`,
      severity: 'weak',
      risk: isWritable ? 'others can change it' : 'others can read it',
      fix: `chmod ${octal(allowed)} ${path}`,
    });
  }
  if (uid !== 0) {
    found.push({
      field,
      value: `${path} of user ${uid}`,
      severity: 'weak',
      risk: 'its owner is not root and can change it',
      fix: `chown root:root ${path}`,
    });
  }
  return found;
}

const octal = (mode: number): string => (mode & 0o777).toString(8);

interface InsecureSettingRule {
  readonly field: string;
  readonly severity:
    | InsecureSetting['severity']
    | ((config: KubeletConfiguration) => InsecureSetting['severity']);
  readonly when: (loaded: JudgedConfiguration, facts: SecurityFacts) => boolean;
  readonly value: (config: KubeletConfiguration) => string;
  readonly risk: string;
  readonly fix: string;
}

const allowsEverything = (config: KubeletConfiguration): boolean =>
  config.authorization.mode === 'AlwaysAllow';
const weakSuite = /_CBC_|_RC4_|_3DES_|^TLS_RSA_/;
const weakSuites = (config: KubeletConfiguration): string[] =>
  config.tlsCipherSuites.filter((name) => weakSuite.test(name));

const rules: readonly InsecureSettingRule[] = [
  {
    field: 'authentication.anonymous.enabled',
    severity: (config) => (allowsEverything(config) ? 'open' : 'weak'),
    when: ({ config }, { servesMainPort }) => servesMainPort && config.authentication.anonymous.enabled,
    value: () => 'true',
    risk: 'anyone who can reach the main port is served without credentials',
    fix: 'set it to false in the --config file',
  },
  {
    field: 'authorization.mode',
    severity: 'open',
    when: ({ config }, { servesMainPort }) => servesMainPort && allowsEverything(config),
    value: (config) => config.authorization.mode,
    risk: 'every request is allowed, such as running commands in containers',
    fix: 'set it to Webhook in the --config file (needs --kubeconfig)',
  },
  {
    field: 'enableDebuggingHandlers',
    severity: 'open',
    when: ({ config }, { servesMainPort }) =>
      servesMainPort &&
      config.enableDebuggingHandlers &&
      allowsEverything(config) &&
      config.authentication.anonymous.enabled,
    value: () => 'true',
    risk: 'anyone can use exec, attach, logs and profiles',
    fix: 'set it to false, or authorization.mode to Webhook',
  },
  {
    field: 'readOnlyPort',
    severity: 'open',
    when: ({ config }) => config.readOnlyPort > 0,
    value: (config) => String(config.readOnlyPort),
    risk: 'anyone can read pods, metrics and statistics, without TLS',
    fix: 'set it to 0',
  },
  {
    field: 'healthzBindAddress',
    severity: 'weak',
    when: ({ config }) => config.healthzPort > 0 && !isLoopback(config.healthzBindAddress),
    value: (config) => config.healthzBindAddress,
    risk: 'other machines can read the health of the agent',
    fix: 'set it to 127.0.0.1, or healthzPort to 0',
  },
  {
    field: 'authentication.x509.clientCAFile',
    severity: 'weak',
    when: ({ config, standalone }, { servesMainPort }) =>
      servesMainPort && !standalone && config.authentication.x509.clientCAFile === '',
    value: () => 'not set',
    risk: 'the API server cannot authenticate with its client certificate',
    fix: 'set it to the CA bundle of the cluster',
  },
  {
    field: 'serverTLSBootstrap',
    severity: 'weak',
    when: ({ config, standalone }, { servesMainPort }) =>
      servesMainPort && !standalone && !config.serverTLSBootstrap && config.tlsCertFile === '',
    value: () => 'false',
    risk: 'the main port uses a self-signed certificate, which clients cannot verify',
    fix: 'set it to true, or set tlsCertFile and tlsPrivateKeyFile',
  },
  {
    field: 'rotateCertificates',
    severity: 'weak',
    when: ({ config, standalone }) => !standalone && !config.rotateCertificates,
    value: () => 'false',
    risk: 'the client certificate of the node is not renewed before it expires',
    fix: 'set it to true',
  },
  {
    field: 'tlsMinVersion',
    severity: 'weak',
    when: ({ config }, { servesMainPort }) =>
      servesMainPort && ['VersionTLS10', 'VersionTLS11'].includes(config.tlsMinVersion),
    value: (config) => config.tlsMinVersion,
    risk: 'this version of TLS is broken',
    fix: 'set it to VersionTLS12 or VersionTLS13',
  },
  {
    field: 'tlsCipherSuites',
    severity: 'weak',
    when: ({ config }, { servesMainPort }) => servesMainPort && weakSuites(config).length > 0,
    value: (config) => weakSuites(config).join(','),
    risk: 'these suites lack authenticated encryption or forward secrecy',
    fix: 'remove the setting, or list only ECDHE suites with GCM or CHACHA20',
  },
  {
    field: 'streamingConnectionIdleTimeout',
    severity: 'weak',
    when: ({ config }) => config.streamingConnectionIdleTimeout === 0,
    value: () => '0',
    risk: 'an idle stream into a container stays open forever',
    fix: 'set it to 4h, the default, or less',
  },
  {
    field: 'makeIPTablesUtilChains',
    severity: 'weak',
    when: ({ config }) => !config.makeIPTablesUtilChains,
    value: () => 'false',
    risk: 'the agent does not drop packets to loopback addresses from other machines',
    fix: 'set it to true, the default',
  },
  {
    field: 'allowedUnsafeSysctls',
    severity: 'weak',
    when: ({ config }) => config.allowedUnsafeSysctls.length > 0,
    value: (config) => config.allowedUnsafeSysctls.join(','),
    risk: 'a pod that sets them can harm other pods or the machine',
    fix: 'remove the sysctls that no pod of this node needs',
  },
  {
    field: 'seccompDefault',
    severity: 'advice',
    when: ({ config }) => !config.seccompDefault,
    value: () => 'false',
    risk: 'containers without a seccomp profile can make any system call',
    fix: 'set it to true',
  },
  {
    field: 'podPidsLimit',
    severity: 'advice',
    when: ({ config }) => config.podPidsLimit <= 0,
    value: (config) => String(config.podPidsLimit),
    risk: 'one pod can use up all process IDs of the machine',
    fix: 'set it to a number that fits your pods, such as 4096',
  },
  {
    field: 'eventRecordQPS',
    severity: 'advice',
    when: ({ config }) => config.eventRecordQPS === 0,
    value: () => '0',
    risk: 'the rate of events is not limited',
    fix: 'set it to 50, the default',
  },
];

function isLoopback(address: string): boolean {
  return /^127\./.test(address) || address === '::1' || address === 'localhost';
}
