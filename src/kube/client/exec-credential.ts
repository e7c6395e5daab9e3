/** Asks a program for credentials (`client.authentication.k8s.io`) and remembers them until they expire or are refused. */
import { execFile } from 'node:child_process';
import { type Clock, errorText, throwIfCancelled } from '../../async/index.js';
import { parseTimestamp } from '../goformat.js';
import type { Credential, Credentials } from './credentials.js';
import type { ClusterEndpoint, ExecPlugin } from './kubeconfig.js';

export interface ExecCredentialsOptions {
  readonly clock: Clock;
  readonly plugin: ExecPlugin;
  readonly endpoint: ClusterEndpoint;
  /** The authority's PEM, for a plugin that wants to know the cluster. */
  readonly readAuthority: () => Promise<string | undefined>;
}

const outputLimitBytes = 1024 * 1024;
const timeoutMs = 60_000;

interface Held {
  readonly credential: Credential;
  readonly expiresMs: number;
}

export class ExecCredentials implements Credentials {
  readonly #options: ExecCredentialsOptions;
  #held: Held | undefined;
  /** One run serves all who ask meanwhile. */
  #asking: Promise<Held> | undefined;

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

  async #ask(): Promise<Held> {
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

  #run(execInfo: string): Promise<string> {
    const { plugin } = this.#options;
    const env = {
      ...process.env,
      ...Object.fromEntries(plugin.env.map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: execInfo,
    };
    return new Promise((resolve, reject) => {
      const child = execFile(
        plugin.command,
        plugin.args,
        { env, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: outputLimitBytes },
        (error, stdout) => {
          // Neither output is shown: the one holds the credentials, the other may.
          if (error === null) resolve(stdout);
          else reject(new Error(failureText(plugin, error), { cause: new Error(error.code?.toString()) }));
        },
      );
      child.stdin?.on('error', () => undefined);
      child.stdin?.end();
    });
  }
}

function failureText(plugin: ExecPlugin, error: { code?: number | string | null; killed?: boolean }): string {
  const hint = plugin.installHint === undefined ? '' : `\n${plugin.installHint}`;
  if (error.code === 'ENOENT') return `exec: executable ${plugin.command} not found${hint}`;
  if (error.killed === true)
    return `exec: executable ${plugin.command} did not end within ${timeoutMs / 1000} s`;
  return `exec: executable ${plugin.command} failed with exit code ${error.code ?? 'unknown'}`;
}

/** What a plugin printed, as a credential and the time until which it is good. */
export function readExecCredential(output: string, plugin: ExecPlugin): Held {
  const fail = (what: string): never => {
    throw new Error(`exec: what ${plugin.command} printed ${what}`);
  };
  let printed: unknown;
  try {
    printed = JSON.parse(output);
  } catch (error) {
    // Without the parser's words, which quote the text.
    fail(`is no JSON (${errorText(error).replace(/[,:].*$/s, '')})`);
  }
  const { apiVersion, kind, status } = (printed ?? {}) as {
    apiVersion?: unknown;
    kind?: unknown;
    status?: Record<string, unknown>;
  };
  if (kind !== 'ExecCredential') fail('is no ExecCredential');
  if (apiVersion !== plugin.apiVersion) fail(`has another apiVersion than ${plugin.apiVersion}`);
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = status ?? {};
  const hasToken = typeof token === 'string' && token !== '';
  const hasCertificate = typeof clientCertificateData === 'string' && typeof clientKeyData === 'string';
  if (!hasToken && !hasCertificate) fail('has neither a token nor a certificate with its key');
  const expiresMs =
    typeof expirationTimestamp === 'string' ? parseTimestamp(expirationTimestamp) : Number.POSITIVE_INFINITY;
  if (expiresMs === undefined) fail('has an expirationTimestamp that is no time');
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
