/**
 * What of the answers a record may not hold, and what stands there instead: the same secret has the same placeholder, so
 * that a replay sees whether one has changed, and nobody finds the secret by its placeholder.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { BoundedMap } from '../async/index.js';
import type { CallSite } from './entries.js';
import { recordLimits } from './limits.js';
import { dockerConfigFile, envFile, isDockerConfig } from './masked-texts.js';

/** How answers of a call, and of what it gave back, are written down. */
export type MaskKind =
  /** Secrets of the API: what `data` holds. */
  | 'secret'
  /** All texts but names of places: tokens, passwords. */
  | 'credentials'
  /** A text with passwords in places that are known. */
  | 'docker config'
  | 'env file'
  /** Addresses of streams. */
  | 'stream'
  /** Output of commands: of those that succeed, nobody is told. */
  | 'output'
  /** Content of files that pods write. */
  | 'content'
  /** Files of volumes. */
  | 'volume'
  /** No secret, but the plain text of what volumes hold. */
  | 'config map';

/** A read gave back what the kubelet itself had written there. */
export const asWritten = '$w';

export interface Mask {
  kindOf(site: CallSite, args: readonly unknown[], inherited: MaskKind | undefined): MaskKind | undefined;
  /** Told of a call before it is made. */
  called(site: CallSite, args: readonly unknown[]): void;
  value(kind: MaskKind | undefined, args: readonly unknown[], value: unknown): unknown;
  bytes(kind: MaskKind | undefined, bytes: Uint8Array): Uint8Array;
}

const volumePath = /\/volumes\/kubernetes\.io~(?:secret|projected|configmap|downward-api)\//;

/** Whether a call writes a file of a volume that may hold secrets; its first two arguments are the path and the content. */
export function writesVolume(method: string, path: unknown): path is string {
  return method.endsWith('iles.writeFile') && typeof path === 'string' && volumePath.test(path);
}

const remembered = { maxEntries: recordLimits.rememberedFiles };

/** A mask with a key of its own, which nobody learns. */
export function createMask(key: Uint8Array = randomBytes(32)): Mask {
  const digestOf = (content: Uint8Array | string): string =>
    createHmac('sha256', key).update(content).digest('hex');
  /** By path: what the kubelet has written there. */
  const written = new BoundedMap<string, string>(remembered);
  /** Texts of ConfigMaps and names of namespaces, which are no secrets even where a secret could be. */
  const plain = new BoundedMap<string, true>(remembered);
  const placeholder = (content: Uint8Array | string): string => {
    const length = Math.min(longestPlaceholder, Math.max(32, Math.ceil(content.length / 16) * 16));
    return `masked-${digestOf(content)}`.repeat(Math.ceil(length / 71)).slice(0, length);
  };
  const base64 = (text: string): string =>
    Buffer.from(placeholder(Buffer.from(text, 'base64'))).toString('base64');

  const secretValue = (text: string): string => {
    const decoded = Buffer.from(text, 'base64').toString('utf8');
    if (!isDockerConfig(decoded)) return base64(text);
    return Buffer.from(dockerConfigFile(decoded, placeholder)).toString('base64');
  };
  const secretTree = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(secretTree);
    if (!isRecord(value)) return value;
    const masked: Record<string, unknown> = { ...value };
    if (isRecord(value.data)) masked.data = eachText(value.data, secretValue);
    if (isRecord(value.stringData)) masked.stringData = eachText(value.stringData, placeholder);
    if (isRecord(value.metadata) && isRecord(value.metadata.annotations))
      masked.metadata = {
        ...value.metadata,
        annotations: eachText(value.metadata.annotations, placeholder),
      };
    // Of a list, of a step of a watch, and of an answer in parts.
    for (const name of ['items', 'object', 'value'])
      if (name in value) masked[name] = secretTree(value[name]);
    return masked;
  };
  const allTexts = (value: unknown): unknown => {
    if (typeof value === 'string') return placeholder(value);
    if (Array.isArray(value)) return value.map(allTexts);
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, places.has(name) ? each : allTexts(each)]),
    );
  };
  const notePlain = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) notePlain(each);
    else if (isRecord(value)) {
      for (const name of ['items', 'object', 'value']) if (name in value) notePlain(value[name]);
      if (isRecord(value.data))
        for (const text of Object.values(value.data))
          if (typeof text === 'string') plain.set(digestOf(text), true);
    }
  };

  return {
    kindOf: (site, args, inherited) => inherited ?? kindOfCall(site, args),
    called({ m }, [path, data]) {
      if (!writesVolume(m, path)) return;
      if (typeof data === 'string' || data instanceof Uint8Array) written.set(path, digestOf(data));
    },
    bytes: (kind, bytes) => (kind === 'content' || kind === 'volume' ? new Uint8Array(bytes.length) : bytes),
    value(kind, [path], value) {
      switch (kind) {
        case 'secret':
          return secretTree(value);
        case 'credentials':
          return allTexts(value);
        case 'docker config':
          return typeof value === 'string' ? dockerConfigFile(value, placeholder) : value;
        case 'env file':
          return typeof value === 'string' ? envFile(value, placeholder) : value;
        case 'stream':
          return isRecord(value) && typeof value.url === 'string'
            ? { ...value, url: placeholder(value.url) }
            : value;
        case 'output':
          return isRecord(value) && value.exitCode === 0
            ? { ...value, stdout: new Uint8Array(), stderr: new Uint8Array() }
            : value;
        case 'config map':
          notePlain(value);
          return value;
        case 'volume': {
          if (!(value instanceof Uint8Array)) return value;
          const digest = digestOf(value);
          if (typeof path === 'string' && written.get(path) === digest) return { [asWritten]: 1 };
          return plain.has(digest) ? value : Buffer.from(placeholder(value));
        }
        case 'content':
          return value instanceof Uint8Array ? new Uint8Array(value.length) : value;
        case undefined:
          return isRecord(value) && value.kind === 'Secret' ? secretTree(value) : value;
      }
    },
  };
}

/** Long enough to tell small from large, and no longer. */
const longestPlaceholder = 1024;

/** Fields of credentials that name where they are for. */
const places: ReadonlySet<string> = new Set([
  'expirationTimestamp',
  'kind',
  'name',
  'namespace',
  'registry',
  'serverAddress',
  'source',
  'uid',
]);

const streams: ReadonlySet<string> = new Set(['exec', 'attach', 'portForward']);

function kindOfCall({ p, m }: CallSite, [first]: readonly unknown[]): MaskKind | undefined {
  if (p.endsWith('api')) return kindOfRequest(m, first);
  switch (p) {
    case 'runtime':
      return streams.has(m) ? 'stream' : m === 'execSync' ? 'output' : undefined;
    case 'tokens':
    case 'keyring':
    case 'podCertificates':
      return 'credentials';
    case 'credential files':
      return m === 'read' ? 'docker config' : undefined;
    case 'node files':
      return m === 'readVolumeFile' ? 'env file' : undefined;
    case 'log files':
      return 'content';
    case 'objects':
      return /secret/i.test(m) ? 'secret' : /configmap/i.test(m) ? 'config map' : undefined;
    case 'machine':
      return typeof first === 'string' ? kindOfFile(m, first) : undefined;
    default:
      return undefined;
  }
}

function kindOfRequest(method: string, resource: unknown): MaskKind | undefined {
  if (!isRecord(resource)) return undefined;
  if (resource.plural === 'secrets') return 'secret';
  if (resource.plural === 'configmaps') return 'config map';
  return method === 'post' ? 'credentials' : undefined;
}

function kindOfFile(method: string, path: string): MaskKind | undefined {
  if (!volumePath.test(path)) return undefined;
  return method.endsWith('readFile') ? 'volume' : method.endsWith('hold') ? 'content' : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !(value instanceof Uint8Array || value instanceof Map || value instanceof Set);
}

function eachText(
  texts: Readonly<Record<string, unknown>>,
  change: (text: string) => string,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, typeof text === 'string' ? change(text) : text]),
  );
}
