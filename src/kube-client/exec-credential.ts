/**
 * Runs a credential program (`client.authentication.k8s.io`) and caches its credentials until they expire or
 * are rejected.
 */
import { X509Certificate } from 'node:crypto';
import { type Clock, errorText, throwIfCancelled } from '../async/index.js';
import { parseJson } from '../kube/manifests/json-text.js';
import { parseTimestamp } from '../kube/values/go-format.js';
import {
  CommandLine,
  endText,
  inheritedEnvironment,
  type ProgramEnd,
  runProgram,
} from '../programs/index.js';
import type { ClientCertificate, Credential, Credentials } from './credentials.js';
import type { ClusterEndpoint, ExecPlugin } from './kubeconfig.js';
import { apiClientLimits } from './limits.js';
import { createExecPluginMetrics, type ExecPluginMetrics } from './metrics.js';

export interface ExecCredentialsOptions {
  readonly clock: Clock;
  readonly plugin: ExecPlugin;
  readonly endpoint: ClusterEndpoint;
  /** The authority's PEM, for a plugin that wants to know the cluster. */
  readonly readAuthority: () => Promise<string | undefined>;
  /** Default: metrics that nobody reads. */
  readonly metrics?: ExecPluginMetrics;
}

const { credentialBytes, credentialMs } = apiClientLimits;

interface CachedExecCredential {
  readonly credential: Credential;
  readonly expiresMs: number;
}

export class ExecCredentials implements Credentials {
  readonly #options: ExecCredentialsOptions;
  #held: CachedExecCredential | undefined;
  /** The last certificate that the program gave. */
  #certificate: (CertificateLife & { readonly pem: string }) | undefined;
  /** One run serves all concurrent callers. */
  #asking: Promise<CachedExecCredential> | undefined;

  readonly #metrics: ExecPluginMetrics;

  constructor(options: ExecCredentialsOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? createExecPluginMetrics();
  }

  async current(signal?: AbortSignal): Promise<Credential> {
    throwIfCancelled(signal);
    if (this.#held !== undefined && this.#options.clock.now() < this.#held.expiresMs)
      return this.#held.credential;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    this.#held = await this.#asking;
    return this.#held.credential;
  }

  refused(credential: Credential): void {
    if (this.#held?.credential === credential) this.#held = undefined;
  }

  async #ask(): Promise<CachedExecCredential> {
    const { plugin } = this.#options;
    const info = await this.#execInfo();
    const output = await this.#run(JSON.stringify(info));
    const found = readExecCredential(output, plugin);
    this.#countCertificate(found);
    return found;
  }

  /** Only certificates are counted: the lives of tokens are short and say little. */
  #countCertificate({ credential: { clientCertificate } }: CachedExecCredential): void {
    const { clock } = this.#options;
    if (clientCertificate === undefined) return;
    const next = lifeOf(clientCertificate);
    const before = this.#certificate;
    this.#certificate = { pem: clientCertificate.certificatePem, ...next };
    if (next.endsMs !== undefined) this.#metrics.pluginExpires(next.endsMs, () => clock.now());
    if (before?.beginsMs !== undefined && before.pem !== clientCertificate.certificatePem)
      this.#metrics.pluginCertificateAge.observe((clock.now() - before.beginsMs) / 1000);
  }

  async #execInfo(): Promise<object> {
    const { plugin, endpoint, readAuthority } = this.#options;
    const authority = plugin.provideClusterInfo ? await readAuthority() : undefined;
    const cluster = {
      server: endpoint.server.href.replace(/\/$/, ''),
      ...(endpoint.tlsServerName === undefined ? {} : { 'tls-server-name': endpoint.tlsServerName }),
      ...(endpoint.insecureSkipTlsVerify ? { 'insecure-skip-tls-verify': true } : {}),
      ...(authority === undefined
        ? {}
        : { 'certificate-authority-data': Buffer.from(authority).toString('base64') }),
    };
    return {
      apiVersion: plugin.apiVersion,
      kind: 'ExecCredential',
      spec: { interactive: false, ...(plugin.provideClusterInfo ? { cluster } : {}) },
    };
  }

  /** Neither output is shown: stdout holds the credentials, stderr may. */
  async #run(execInfo: string): Promise<string> {
    const { plugin, clock } = this.#options;
    const env = inheritedEnvironment({
      ...Object.fromEntries(plugin.env.map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: execInfo,
    });
    const line = CommandLine.given(plugin.command, plugin.args);
    const end = await runProgram(line, {
      clock,
      limitMs: credentialMs,
      env,
      outputLimitBytes: credentialBytes,
    });
    this.#metrics.pluginCalls.inc(callOf(end));
    if (end.kind === 'exited' && end.exitCode === 0) return end.stdout;
    throw new Error(failureText(plugin, end));
  }
}

interface CertificateLife {
  readonly beginsMs?: number;
  readonly endsMs?: number;
}

/** Empty for one that cannot be read, which the server will refuse. */
function lifeOf({ certificatePem }: ClientCertificate): CertificateLife {
  try {
    const { validFrom, validTo } = new X509Certificate(certificatePem);
    return { beginsMs: Date.parse(validFrom), endsMs: Date.parse(validTo) };
  } catch {
    return {};
  }
}

/** How a run of the program is counted: by its exit code, 1 where it has none. */
export function callOf(end: ProgramEnd): { code: string; call_status: string } {
  if (end.kind === 'exited')
    return end.exitCode === 0
      ? { code: '0', call_status: 'no_error' }
      : { code: String(end.exitCode), call_status: 'plugin_execution_error' };
  const isMissing = end.kind === 'not-started' && end.code === 'ENOENT';
  return { code: '1', call_status: isMissing ? 'plugin_not_found_error' : 'client_internal_error' };
}

function failureText(plugin: ExecPlugin, end: ProgramEnd): string {
  const hint = plugin.installHint === undefined ? '' : `\n${plugin.installHint}`;
  if (end.kind === 'not-started' && end.code === 'ENOENT')
    return `exec: executable ${plugin.command} not found${hint}`;
  if (end.kind === 'timed-out')
    return `exec: executable ${plugin.command} did not end within ${credentialMs / 1000} s`;
  const how = end.kind === 'exited' ? `exit code ${end.exitCode}` : endText(end);
  return `exec: executable ${plugin.command} failed with ${how}`;
}

/** Parses a plugin's output into a credential and its expiry. */
export function readExecCredential(output: string, plugin: ExecPlugin): CachedExecCredential {
  const fail = (what: string): never => {
    throw new Error(`exec: what ${plugin.command} printed ${what}`);
  };
  let printed: unknown;
  try {
    printed = parseJson(output);
  } catch (error) {
    fail(errorText(error));
  }
  const { apiVersion, kind, status } = (printed ?? {}) as {
    apiVersion?: unknown;
    kind?: unknown;
    status?: Record<string, unknown>;
  };
  if (kind !== 'ExecCredential') fail('is not an ExecCredential');
  if (apiVersion !== plugin.apiVersion) fail(`does not have the apiVersion ${plugin.apiVersion}`);
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = status ?? {};
  const hasToken = typeof token === 'string' && token !== '';
  const hasCertificate = typeof clientCertificateData === 'string' && typeof clientKeyData === 'string';
  if (!hasToken && !hasCertificate) fail('has neither a token nor a certificate with its key');
  const expiresMs =
    typeof expirationTimestamp === 'string' ? parseTimestamp(expirationTimestamp) : Number.POSITIVE_INFINITY;
  if (expiresMs === undefined) fail('has an invalid expirationTimestamp');
  return {
    credential: {
      ...(hasToken ? { bearerToken: token } : {}),
      ...(hasCertificate
        ? { clientCertificate: { certificatePem: clientCertificateData, keyPem: clientKeyData } }
        : {}),
    },
    expiresMs: expiresMs ?? 0,
  };
}
