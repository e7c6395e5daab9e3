/**
 * Runs a credential program (`client.authentication.k8s.io`) and caches its credentials until they expire or
 * are rejected.
 */
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
import type { Credential, Credentials } from './credentials.js';
import type { ClusterEndpoint, ExecPlugin } from './kubeconfig.js';
import { apiClientLimits } from './limits.js';

export interface ExecCredentialsOptions {
  readonly clock: Clock;
  readonly plugin: ExecPlugin;
  readonly endpoint: ClusterEndpoint;
  /** The authority's PEM, for a plugin that wants to know the cluster. */
  readonly readAuthority: () => Promise<string | undefined>;
}

const { credentialBytes, credentialMs } = apiClientLimits;

interface CachedExecCredential {
  readonly credential: Credential;
  readonly expiresMs: number;
}

export class ExecCredentials implements Credentials {
  readonly #options: ExecCredentialsOptions;
  #held: CachedExecCredential | undefined;
  /** One run serves all concurrent callers. */
  #asking: Promise<CachedExecCredential> | undefined;

  constructor(options: ExecCredentialsOptions) {
    this.#options = options;
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
    return readExecCredential(output, plugin);
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
    if (end.kind === 'exited' && end.exitCode === 0) return end.stdout;
    throw new Error(failureText(plugin, end));
  }
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
