/**
 * Validates the objects besides pods that a node reads from manifests; errors never quote values, which may
 * be secret.
 */
import type { ManifestObject } from '../decode.js';
import type { FieldError } from './field-errors.js';
import { configMapKey, dnsLabel, dnsSubdomain, mountOptions, nfsPath, nfsServer } from './names.js';

/** All data of one ConfigMap or Secret together. */
export const objectDataLimitBytes = 1024 * 1024;

/** An object other than a pod. */
export type StandaloneObject = Exclude<ManifestObject, { kind: 'Pod' }>;
export type StandaloneObjectKind = StandaloneObject['kind'];

/** Empty when the object is valid. */
export function validateObject(object: StandaloneObject): FieldError[] {
  return [...metadataErrors(object), ...contentErrors(object)];
}

function* metadataErrors({ kind, metadata }: StandaloneObject): Generator<FieldError> {
  const { name = '', namespace = '' } = metadata;
  const problem = name === '' ? `a ${kind} needs a name; add "name:" below "metadata:"` : dnsSubdomain(name);
  if (problem !== undefined) yield { path: ['metadata', 'name'], message: problem };
  if (kind === 'PersistentVolume') {
    if (namespace === '') return;
    const message = 'a PersistentVolume belongs to no namespace; remove it';
    yield { path: ['metadata', 'namespace'], message };
    return;
  }
  const misnamed = namespace === '' ? undefined : dnsLabel(namespace);
  if (misnamed !== undefined) yield { path: ['metadata', 'namespace'], message: misnamed };
}

function* contentErrors(object: StandaloneObject): Generator<FieldError> {
  switch (object.kind) {
    case 'ConfigMap': {
      const { data = {}, binaryData = {} } = object;
      yield* keyErrors('data', data);
      yield* keyErrors('binaryData', binaryData);
      yield* base64Errors('binaryData', binaryData, 'put plain text below "data:" instead');
      for (const key of Object.keys(binaryData)) {
        if (!Object.hasOwn(data, key)) continue;
        yield { path: ['binaryData', key], message: 'the same key is in "data"; rename one of them' };
      }
      yield* sizeErrors(Object.values(data), Object.values(binaryData));
      return;
    }
    case 'Secret': {
      const { data = {}, stringData = {} } = object;
      yield* keyErrors('data', data);
      yield* keyErrors('stringData', stringData);
      yield* base64Errors('data', data, 'put plain text below "stringData:" instead');
      yield* sizeErrors(Object.values(stringData), Object.values(data));
      return;
    }
    case 'PersistentVolume':
      yield* volumeErrors(object.spec);
      return;
    case 'PersistentVolumeClaim':
      return;
  }
}

function* keyErrors(field: string, data: Readonly<Record<string, string>>): Generator<FieldError> {
  for (const key of Object.keys(data)) {
    const problem = configMapKey(key);
    if (problem !== undefined) yield { path: [field, key], message: `the key ${problem}` };
  }
}

function* base64Errors(
  field: string,
  data: Readonly<Record<string, string>>,
  hint: string,
): Generator<FieldError> {
  for (const [key, text] of Object.entries(data)) {
    if (!isBase64(text)) yield { path: [field, key], message: `the value is not base64; ${hint}` };
  }
}

/** Padded, in the standard alphabet; line breaks are ignored. */
function isBase64(text: string): boolean {
  const joined = text.replace(/[\r\n]/g, '');
  return joined.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(joined);
}

function* sizeErrors(texts: readonly string[], encoded: readonly string[]): Generator<FieldError> {
  const bytes =
    texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) +
    encoded.reduce((sum, text) => sum + Buffer.byteLength(text, 'base64'), 0);
  if (bytes <= objectDataLimitBytes) return;
  const message = `its data has ${bytes} bytes; at most ${objectDataLimitBytes} are allowed, so split it`;
  yield { path: ['data'], message };
}

function* volumeErrors(
  spec: Extract<StandaloneObject, { kind: 'PersistentVolume' }>['spec'],
): Generator<FieldError> {
  const sources = (['hostPath', 'nfs', 'local', 'csi', 'iscsi', 'fc'] as const).filter(
    (kind) => spec[kind] !== undefined,
  );
  if (spec.nfs !== undefined) {
    const { server, path } = spec.nfs;
    const serverProblem = nfsServer(server);
    if (serverProblem !== undefined)
      yield { path: ['spec', 'nfs', 'server'], message: `the server ${serverProblem}` };
    const pathProblem = nfsPath(path);
    if (pathProblem !== undefined)
      yield { path: ['spec', 'nfs', 'path'], message: `the path ${pathProblem}` };
  }
  for (const [index, option] of (spec.mountOptions ?? []).entries()) {
    const problem = mountOptions(option);
    if (problem !== undefined)
      yield { path: ['spec', 'mountOptions', index], message: `the option ${problem}` };
  }
  if (sources.length === 1) return;
  const found = sources.length === 0 ? 'it names no place' : `it names ${sources.length} places`;
  yield { path: ['spec'], message: `${found}; give exactly one of hostPath, local, nfs` };
}
