/** Our credentials for the API server: a certificate, a token, or both, always the newest. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Clock } from '../async/index.js';
import { ExecCredentials } from './exec-credential.js';
import type { BearerSource, ClusterAccess, PemSource } from './kubeconfig.js';
import type { ExecPluginMetrics } from './metrics.js';
import { WatchedFile } from './watched-file.js';

export interface ClientCertificate {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface Credential {
  readonly bearerToken?: string;
  readonly clientCertificate?: ClientCertificate;
}

export interface Credentials {
  /** Called before each request; returns the same object as long as nothing changed. */
  current(signal?: AbortSignal): Promise<Credential>;
  /** The server rejected it; cached values should be renewed. */
  refused(credential: Credential): void;
}

export const anonymous: Credentials = { current: async () => none, refused: () => undefined };
const none: Credential = {};

export interface CredentialsOptions {
  readonly clock: Clock;
  readonly access: ClusterAccess;
  readonly onProblem?: (message: string) => void;
  /** Of a credential program. Default: metrics that nobody reads. */
  readonly metrics?: ExecPluginMetrics;
}

/** How often to check files; rotated certificates should be used soon. */
const certificateCheckMs = 10_000;
const tokenCheckMs = 60_000;

export function credentialsOf(options: CredentialsOptions): Credentials {
  const { bearer, clientCertificate } = options.access.user;
  const parts: Credentials[] = [];
  if (clientCertificate !== undefined) parts.push(certificateCredentials(options, clientCertificate));
  if (bearer !== undefined) parts.push(bearerCredentials(options, bearer));
  const [only, ...others] = parts;
  if (only === undefined) return anonymous;
  return others.length === 0 ? only : combined(parts);
}

function bearerCredentials(
  { clock, access, onProblem, metrics }: CredentialsOptions,
  bearer: BearerSource,
): Credentials {
  switch (bearer.kind) {
    case 'token': {
      const credential = { bearerToken: bearer.token };
      return { current: async () => credential, refused: () => undefined };
    }
    case 'file':
      return fileToken(clock, bearer.path, onProblem);
    case 'exec': {
      const authority = pemReader(clock, access.endpoint.certificateAuthority, onProblem);
      return new ExecCredentials({
        clock,
        plugin: bearer.plugin,
        endpoint: access.endpoint,
        readAuthority: authority,
        ...(metrics === undefined ? {} : { metrics }),
      });
    }
  }
}

function fileToken(clock: Clock, path: string, onProblem: CredentialsOptions['onProblem']): Credentials {
  const file = new WatchedFile({
    clock,
    path,
    checkPeriodMs: tokenCheckMs,
    check: (text) => {
      if (text.trim() === '') throw new Error('contains no token');
    },
    ...(onProblem === undefined ? {} : { onProblem }),
  });
  let held: Credential = none;
  return {
    current: async () => {
      const bearerToken = (await file.read()).trim();
      if (held.bearerToken !== bearerToken) held = { bearerToken };
      return held;
    },
    refused: (credential) => {
      if (credential === held) file.expire();
    },
  };
}

/** Rereads a PEM source when its file changed; undefined when there is none. */
export function pemReader(
  clock: Clock,
  source: PemSource | undefined,
  onProblem?: (message: string) => void,
): () => Promise<string | undefined> {
  if (source === undefined) return async () => undefined;
  if (source.kind === 'data') return async () => source.pem;
  const file = new WatchedFile({
    clock,
    path: source.path,
    checkPeriodMs: certificateCheckMs,
    check: (text) => {
      if (!text.includes('-----BEGIN ')) throw new Error('contains no PEM');
    },
    ...(onProblem === undefined ? {} : { onProblem }),
  });
  return () => file.read();
}

function certificateCredentials(
  { clock, onProblem }: CredentialsOptions,
  sources: { readonly certificate: PemSource; readonly key: PemSource },
): Credentials {
  const readCertificate = pemReader(clock, sources.certificate, onProblem);
  const readKey = pemReader(clock, sources.key, onProblem);
  let held: ClientCertificate | undefined;
  let credential = none;
  /** Remembered, so that a mismatched pair is checked and reported once. */
  let misfit: ClientCertificate | undefined;
  const isSame = (a: ClientCertificate | undefined, b: ClientCertificate): boolean =>
    a?.certificatePem === b.certificatePem && a.keyPem === b.keyPem;
  return {
    current: async () => {
      const read = { certificatePem: (await readCertificate()) ?? '', keyPem: (await readKey()) ?? '' };
      if (isSame(held, read) || isSame(misfit, read)) return credential;
      const problem = pairProblem(read);
      if (problem !== undefined) {
        // The two files of a pair are replaced one after the other; until both are, the old pair is used.
        const message = `the client certificate and its key cannot be used: ${problem}`;
        if (held === undefined) throw new Error(message);
        misfit = read;
        onProblem?.(`${message}; the old ones stay in use`);
        return credential;
      }
      held = read;
      misfit = undefined;
      credential = { clientCertificate: read };
      return credential;
    },
    refused: () => undefined,
  };
}

/** Why the two are not a pair; undefined when they are. */
export function pairProblem({ certificatePem, keyPem }: ClientCertificate): string | undefined {
  try {
    const fits = new X509Certificate(certificatePem).checkPrivateKey(createPrivateKey(keyPem));
    return fits ? undefined : 'the key does not match the certificate';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** A certificate and a token together; where both parts have one, that of the plugin or file wins. */
function combined(parts: readonly Credentials[]): Credentials {
  let held: Credential = none;
  let from: readonly Credential[] = [];
  return {
    current: async (signal) => {
      const found = await Promise.all(parts.map((part) => part.current(signal)));
      if (found.some((credential, index) => credential !== from[index])) {
        from = found;
        held = Object.assign({}, ...found);
      }
      return held;
    },
    refused: (credential) => {
      if (credential !== held) return;
      for (const [index, part] of parts.entries()) part.refused(from[index] ?? none);
    },
  };
}
