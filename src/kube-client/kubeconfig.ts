/** Parses a kubeconfig file into its current cluster and user, and rejects what is unsupported. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { errorText } from '../async/index.js';
import type { Mapping } from '../kube/index.js';
import {
  type FieldPath,
  formatFieldPath,
  parseSource,
  type SourceDocument,
} from '../kube/manifests/document.js';

/** PEM text, inline or from another file, which is reread when it changes. */
export type PemSource =
  | { readonly kind: 'data'; readonly pem: string }
  | { readonly kind: 'file'; readonly path: string };

export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly installHint: string | undefined;
  readonly provideClusterInfo: boolean;
}

export type BearerSource =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'exec'; readonly plugin: ExecPlugin };

export interface ClusterEndpoint {
  readonly server: URL;
  readonly certificateAuthority: PemSource | undefined;
  readonly insecureSkipTlsVerify: boolean;
  /** The expected name in the server's certificate, when it differs from the address. */
  readonly tlsServerName: string | undefined;
}

export interface UserAccess {
  readonly clientCertificate: { readonly certificate: PemSource; readonly key: PemSource } | undefined;
  readonly bearer: BearerSource | undefined;
}

export interface ClusterAccess {
  readonly endpoint: ClusterEndpoint;
  readonly user: UserAccess;
  /** The default namespace. */
  readonly namespace: string;
}

/** An unusable kubeconfig; the message names the file and the field, never a value that may be secret. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}

const fileLimitBytes = 8 * 1024 * 1024;

export async function loadKubeconfig(file: string, contextName?: string): Promise<ClusterAccess> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new KubeconfigError(`${file}: cannot be read: ${errorText(error)}`, { cause: error });
  }
  if (text.length > fileLimitBytes)
    throw new KubeconfigError(`${file}: is larger than ${fileLimitBytes} bytes`);
  return parseKubeconfig(text, file, contextName);
}

/** Relative paths are resolved from the file's directory. */
export function parseKubeconfig(text: string, file: string, contextName?: string): ClusterAccess {
  return new KubeconfigReader(text, file).read(contextName);
}

class KubeconfigReader {
  readonly #file: string;
  readonly #document: SourceDocument;

  constructor(text: string, file: string) {
    this.#file = file;
    const [document, ...more] = parseSource(text, file);
    if (document === undefined) throw new KubeconfigError(`${file}: is empty`);
    if (more.length > 0) throw new KubeconfigError(`${file}: contains more than one document`);
    this.#document = document;
  }

  read(contextName: string | undefined): ClusterAccess {
    const root = this.#mapping(this.#document.value, []);
    this.#checkHeader(root);
    const current = contextName ?? this.#text(root, ['current-context']);
    if (current === undefined || current === '')
      this.#fail(['current-context'], 'is missing; name one of contexts');
    const context = this.#named(root, 'contexts', 'context', current, ['current-context']);
    const clusterName = this.#text(context.value, [...context.at, 'cluster']);
    if (clusterName === undefined) this.#fail([...context.at, 'cluster'], 'is missing; name one of clusters');
    const cluster = this.#named(root, 'clusters', 'cluster', clusterName, [...context.at, 'cluster']);
    const userName = this.#text(context.value, [...context.at, 'user']);
    // A context without a user is for a server without authentication.
    const user =
      userName === undefined || userName === ''
        ? undefined
        : this.#named(root, 'users', 'user', userName, [...context.at, 'user']);
    return {
      endpoint: this.#endpoint(cluster.value, cluster.at),
      user:
        user === undefined
          ? { clientCertificate: undefined, bearer: undefined }
          : this.#user(user.value, user.at),
      namespace: this.#text(context.value, [...context.at, 'namespace']) || 'default',
    };
  }

  #checkHeader(root: Mapping): void {
    const kind = this.#text(root, ['kind']);
    if (kind !== undefined && kind !== 'Config')
      this.#fail(['kind'], `is ${JSON.stringify(kind)}; write "Config"`);
    const apiVersion = this.#text(root, ['apiVersion']);
    if (apiVersion !== undefined && apiVersion !== 'v1') {
      this.#fail(['apiVersion'], `is ${JSON.stringify(apiVersion)}; write "v1"`);
    }
  }

  #endpoint(cluster: Mapping, at: FieldPath): ClusterEndpoint {
    const text = this.#text(cluster, [...at, 'server']);
    if (text === undefined || text === '')
      this.#fail([...at, 'server'], 'is missing; write https://HOST:PORT');
    const withScheme = /^[a-z]+:\/\//i.test(text) ? text : `https://${text}`;
    if (!URL.canParse(withScheme)) this.#fail([...at, 'server'], 'is not a URL; write https://HOST:PORT');
    const server = new URL(withScheme);
    if (server.protocol !== 'https:' && server.protocol !== 'http:') {
      this.#fail([...at, 'server'], `has the scheme ${server.protocol}; use https or http`);
    }
    if (server.username !== '' || server.password !== '') {
      this.#fail([...at, 'server'], 'must not contain a user or password; put them into users');
    }
    if (this.#text(cluster, [...at, 'proxy-url'])) {
      this.#fail([...at, 'proxy-url'], 'is not supported: the API server is reached directly; remove it');
    }
    const certificateAuthority = this.#pem(cluster, at, 'certificate-authority');
    const insecureSkipTlsVerify = this.#flag(cluster, [...at, 'insecure-skip-tls-verify']);
    if (insecureSkipTlsVerify && certificateAuthority !== undefined) {
      this.#fail(
        [...at, 'insecure-skip-tls-verify'],
        'contradicts the certificate authority that is also given; remove one of them',
      );
    }
    const tlsServerName = this.#text(cluster, [...at, 'tls-server-name']) || undefined;
    return { server, certificateAuthority, insecureSkipTlsVerify, tlsServerName };
  }

  #user(user: Mapping, at: FieldPath): UserAccess {
    for (const field of [
      'auth-provider',
      'as',
      'as-uid',
      'as-groups',
      'as-user-extra',
      'username',
      'password',
    ]) {
      if (user[field] !== undefined && user[field] !== null && user[field] !== '') {
        const instead = 'use a client certificate, token, tokenFile or exec';
        this.#fail([...at, field], `is not supported: ${instead}`);
      }
    }
    const certificate = this.#pem(user, at, 'client-certificate');
    const key = this.#pem(user, at, 'client-key');
    if (certificate !== undefined && key === undefined)
      this.#fail([...at, 'client-key'], 'is missing for the client-certificate');
    if (key !== undefined && certificate === undefined)
      this.#fail([...at, 'client-certificate'], 'is missing for the client-key');
    const clientCertificate =
      certificate !== undefined && key !== undefined ? { certificate, key } : undefined;
    return { clientCertificate, bearer: this.#bearer(user, at) };
  }

  #bearer(user: Mapping, at: FieldPath): BearerSource | undefined {
    const token = this.#text(user, [...at, 'token']);
    const tokenFile = this.#text(user, [...at, 'tokenFile']);
    const exec = user.exec;
    if (exec !== undefined && exec !== null) {
      if (token || tokenFile) this.#fail([...at, 'exec'], 'is given beside a token; remove one of them');
      return { kind: 'exec', plugin: this.#plugin(this.#mapping(exec, [...at, 'exec']), [...at, 'exec']) };
    }
    if (tokenFile) return { kind: 'file', path: this.#resolve(tokenFile) };
    return token ? { kind: 'token', token } : undefined;
  }

  #plugin(exec: Mapping, at: FieldPath): ExecPlugin {
    const command = this.#text(exec, [...at, 'command']);
    if (command === undefined || command === '') this.#fail([...at, 'command'], 'is missing');
    const apiVersion = this.#text(exec, [...at, 'apiVersion']) ?? '';
    if (!execApiVersions.includes(apiVersion)) {
      this.#fail(
        [...at, 'apiVersion'],
        `is ${JSON.stringify(apiVersion)}; use ${execApiVersions.join(' or ')}`,
      );
    }
    const mode = this.#text(exec, [...at, 'interactiveMode']);
    if (mode === 'Always')
      this.#fail([...at, 'interactiveMode'], 'is Always, but there is no user to ask; use Never');
    if (mode === undefined && apiVersion === execApiVersions[0]) {
      this.#fail([...at, 'interactiveMode'], 'is missing; write Never');
    }
    return {
      apiVersion,
      // A bare name is looked up in PATH, a path is relative to the file.
      command: command.includes('/') ? this.#resolve(command) : command,
      args: this.#list(exec.args, [...at, 'args']).map((arg, index) =>
        this.#string(arg, [...at, 'args', index]),
      ),
      env: this.#list(exec.env, [...at, 'env']).map((entry, index) => {
        const place = [...at, 'env', index];
        const member = this.#mapping(entry, place);
        const name = this.#text(member, [...place, 'name']) ?? this.#fail([...place, 'name'], 'is missing');
        return { name, value: this.#text(member, [...place, 'value']) ?? '' };
      }),
      installHint: this.#text(exec, [...at, 'installHint']),
      provideClusterInfo: this.#flag(exec, [...at, 'provideClusterInfo']),
    };
  }

  /** `<field>-data` in base64, which wins, or `<field>` as a path. */
  #pem(from: Mapping, at: FieldPath, field: string): PemSource | undefined {
    const data = this.#text(from, [...at, `${field}-data`]);
    if (data !== undefined && data !== '') {
      const pem = Buffer.from(data, 'base64').toString('latin1');
      if (!pem.includes('-----BEGIN ')) this.#fail([...at, `${field}-data`], 'is not PEM in base64');
      return { kind: 'data', pem };
    }
    const file = this.#text(from, [...at, field]);
    return file === undefined || file === '' ? undefined : { kind: 'file', path: this.#resolve(file) };
  }

  #named(
    root: Mapping,
    list: string,
    member: string,
    name: string,
    asked: FieldPath,
  ): { value: Mapping; at: FieldPath } {
    const entries = this.#list(root[list], [list]);
    const index = entries.findIndex((entry) => isMapping(entry) && entry.name === name);
    const entry = entries[index];
    if (!isMapping(entry)) this.#fail(asked, `is ${JSON.stringify(name)}, which is not in ${list}`);
    const at = [list, index, member];
    return { value: this.#mapping(entry[member], at), at };
  }

  #mapping(value: unknown, at: FieldPath): Mapping {
    return isMapping(value) ? value : this.#fail(at, 'is not a mapping');
  }

  #list(value: unknown, at: FieldPath): readonly unknown[] {
    if (value === undefined || value === null) return [];
    return Array.isArray(value) ? value : this.#fail(at, 'is not a list');
  }

  #text(from: Mapping, at: FieldPath): string | undefined {
    const value = from[String(at.at(-1))];
    return value === undefined || value === null ? undefined : this.#string(value, at);
  }

  #string(value: unknown, at: FieldPath): string {
    return typeof value === 'string' ? value : this.#fail(at, 'is not a string; put it in quotes');
  }

  #flag(from: Mapping, at: FieldPath): boolean {
    const value = from[String(at.at(-1))] ?? false;
    return typeof value === 'boolean' ? value : this.#fail(at, 'is neither true nor false');
  }

  #resolve(file: string): string {
    return path.resolve(path.dirname(this.#file), file);
  }

  #fail(at: FieldPath, what: string): never {
    const position = this.#document.locate(at);
    const place = position === undefined ? this.#file : `${this.#file}:${position.line}:${position.column}`;
    throw new KubeconfigError(`${place}: ${at.length === 0 ? 'the file' : formatFieldPath(at)} ${what}`);
  }
}

const execApiVersions: readonly string[] = [
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
];

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
