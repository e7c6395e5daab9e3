/** ConfigMaps and Secrets: named data, within limits, and fixed once somebody says so. */
import {
  type FieldError,
  FieldErrors,
  LazyFieldPath,
} from '../../../kube/manifests/validation/field-errors.js';
import { configMapKey } from '../../../kube/manifests/validation/names.js';
import { objectDataLimitBytes } from '../../../kube/manifests/validation/objects.js';
import type { ConfigMap, Secret } from '../../../kube/types/index.js';
import { semanticEqual } from '../../../kube/values/deep-equal.js';
import { resources } from '../../../kube-client/resources.js';
import { served } from '../served-kind.js';

type DataFields = Readonly<Record<string, unknown>> | undefined;

export const configMapKind = served<ConfigMap>({
  resource: resources.configMaps,
  singular: 'configmap',
  shortNames: ['cm'],
  subresources: [],
  validate: ({ data, binaryData }) => {
    const errors = new FieldErrors();
    validateKeys(data, 'data', errors);
    validateKeys(binaryData, 'binaryData', errors);
    validateTexts(data, 'data', errors);
    validateBase64(binaryData, 'binaryData', errors);
    for (const key of Object.keys(binaryData ?? {})) {
      if (Object.hasOwn(data ?? {}, key))
        errors.invalid(LazyFieldPath.root('data').child(key), key, 'duplicate of key present in binaryData');
    }
    validateSize([...sizes(data, 'utf8'), ...sizes(binaryData, 'base64')], '', errors);
    return errors.list;
  },
  validateUpdate: (next, current) => {
    const errors = new FieldErrors();
    validateFixed(next, current, ['data', 'binaryData'], errors);
    return errors.list;
  },
});

/** The keys that a Secret of each type needs. */
const neededKeys: ReadonlyMap<string, readonly string[]> = new Map([
  ['kubernetes.io/dockercfg', ['.dockercfg']],
  ['kubernetes.io/dockerconfigjson', ['.dockerconfigjson']],
  ['kubernetes.io/ssh-auth', ['ssh-privatekey']],
  ['kubernetes.io/tls', ['tls.crt', 'tls.key']],
]);
const jsonKeys = new Set(['.dockercfg', '.dockerconfigjson']);
const accountAnnotation = 'kubernetes.io/service-account.name';

export const secretKind = served<Secret>({
  resource: resources.secrets,
  singular: 'secret',
  subresources: [],
  defaults: (secret) => {
    secret.type ||= 'Opaque';
    const { stringData } = secret;
    if (stringData === undefined) return;
    // Plain texts are a way to write only: they are stored with the others.
    delete secret.stringData;
    const encoded = Object.entries(stringData).map(([key, text]): [string, string] => {
      if (typeof text !== 'string') throw new TypeError(`stringData.${key} is no text`);
      return [key, Buffer.from(text).toString('base64')];
    });
    secret.data = { ...secret.data, ...Object.fromEntries(encoded) };
  },
  validate: validateSecret,
  validateUpdate: (next, current) => {
    const errors = new FieldErrors();
    if (next.type !== current.type)
      errors.invalid(LazyFieldPath.root('type'), next.type, 'field is immutable');
    validateFixed(next, current, ['data'], errors);
    return errors.list;
  },
});

function validateSecret({ data = {}, type = '', metadata }: Secret): readonly FieldError[] {
  const errors = new FieldErrors();
  const field = LazyFieldPath.root('data');
  validateKeys(data, 'data', errors);
  validateBase64(data, 'data', errors);
  validateSize(sizes(data, 'base64'), 'data', errors);
  if (errors.list.length > 0) return errors.list;
  for (const key of neededKeys.get(type) ?? []) {
    const value = data[key];
    if (value === undefined) errors.required(field.child(key));
    else if (jsonKeys.has(key) && !isJson(value))
      errors.invalid(field.child(key), '<secret contents redacted>', 'the content is no JSON');
  }
  if (type === 'kubernetes.io/basic-auth' && data.username === undefined && data.password === undefined) {
    errors.required(field.child('username'));
    errors.required(field.child('password'));
  }
  if (type === 'kubernetes.io/service-account-token' && !metadata.annotations?.[accountAnnotation])
    errors.required(LazyFieldPath.root('metadata').child('annotations').child(accountAnnotation));
  return errors.list;
}

function isJson(base64: string): boolean {
  try {
    JSON.parse(Buffer.from(base64, 'base64').toString());
    return true;
  } catch {
    return false;
  }
}

function validateKeys(data: DataFields, name: string, errors: FieldErrors): void {
  const field = LazyFieldPath.root(name);
  for (const key of Object.keys(data ?? {})) errors.check(field.child(key), key, configMapKey);
}

/** Errors never quote values, which may be secret. */
function validateTexts(data: DataFields, name: string, errors: FieldErrors): void {
  for (const [key, value] of Object.entries(data ?? {})) {
    if (typeof value !== 'string')
      errors.invalid(LazyFieldPath.root(name).child(key), `<${typeof value}>`, 'must be a text');
  }
}

function validateBase64(data: DataFields, name: string, errors: FieldErrors): void {
  for (const [key, value] of Object.entries(data ?? {})) {
    if (typeof value === 'string' && isBase64(value)) continue;
    errors.invalid(LazyFieldPath.root(name).child(key), '<value redacted>', 'must be base64');
  }
}

/** Padded, in the standard alphabet; line breaks are ignored. */
function isBase64(text: string): boolean {
  const joined = text.replace(/[\r\n]/g, '');
  return joined.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(joined);
}

function sizes(data: DataFields, encoding: 'utf8' | 'base64'): number[] {
  return Object.values(data ?? {}).map((value) => Buffer.byteLength(String(value), encoding));
}

function validateSize(bytes: readonly number[], name: string, errors: FieldErrors): void {
  const total = bytes.reduce((sum, size) => sum + size, 0);
  if (total > objectDataLimitBytes) errors.tooLong(LazyFieldPath.root(name), objectDataLimitBytes);
}

/** What is immutable stays so, with its data. */
function validateFixed<T extends ConfigMap | Secret>(
  next: T,
  current: T,
  names: readonly (keyof T & string)[],
  errors: FieldErrors,
): void {
  if (current.immutable !== true) return;
  const detail = 'field is immutable when `immutable` is set';
  if (next.immutable !== true) errors.forbidden(LazyFieldPath.root('immutable'), detail);
  for (const name of names) {
    if (!semanticEqual(next[name], current[name])) errors.forbidden(LazyFieldPath.root(name), detail);
  }
}
