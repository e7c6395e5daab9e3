/** Validates environment variables and the fields and resources they refer to. */
import type {
  Container,
  EnvVarSource,
  FileKeySelector,
  KeySelector,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from '../../types/container.js';
import type { Volume } from '../../types/volume.js';
import { tryParseQuantity } from '../../values/quantity.js';
import type { FieldErrors, LazyFieldPath } from './field-errors.js';
import { configMapKey, dnsSubdomain, envVarName, localNonReservedPath, qualifiedName } from './names.js';

const envFields = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
const volumeFields = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];
const cpuDivisors = ['1', '1m'];
const byteDivisors = ['1', '1E', '1Ei', '1G', '1Gi', '1Ki', '1M', '1Mi', '1P', '1Pi', '1T', '1Ti', '1k'];
const readableResources = ['limits', 'requests'].flatMap((side) =>
  ['cpu', 'ephemeral-storage', 'memory'].map((name) => `${side}.${name}`),
);
const sourceNames = [
  'fieldRef',
  'resourceFieldRef',
  'configMapKeyRef',
  'secretKeyRef',
  'fileKeyRef',
] as const;

export function validateEnv(
  container: Container,
  volumes: ReadonlyMap<string, Volume>,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  for (const [index, variable] of (container.env ?? []).entries()) {
    const at = field.child('env').child(index);
    errors.requiredCheck(at.child('name'), variable.name, envVarName);
    if (variable.valueFrom === undefined) continue;
    const from = at.child('valueFrom');
    if (variable.value) errors.invalid(from, '', 'give either `value` or `valueFrom`');
    validateEnvSource(variable.valueFrom, volumes, from, errors);
  }
  validateEnvFrom(container, field.child('envFrom'), errors);
}

function validateEnvFrom(container: Container, field: LazyFieldPath, errors: FieldErrors): void {
  for (const [index, source] of (container.envFrom ?? []).entries()) {
    const at = field.child(index);
    if (source.prefix) errors.check(at.child('prefix'), source.prefix, envVarName);
    const { configMapRef, secretRef } = source;
    if (configMapRef === undefined && secretRef === undefined) {
      errors.invalid(at, '', 'give `configMapRef` or `secretRef`');
    } else if (configMapRef !== undefined && secretRef !== undefined) {
      errors.invalid(at, '', 'only one source may be given');
    }
    if (configMapRef !== undefined)
      errors.requiredCheck(at.child('configMapRef').child('name'), configMapRef.name, dnsSubdomain);
    if (secretRef !== undefined)
      errors.requiredCheck(at.child('secretRef').child('name'), secretRef.name, dnsSubdomain);
  }
}

function validateEnvSource(
  source: EnvVarSource,
  volumes: ReadonlyMap<string, Volume>,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  const given = sourceNames.filter((name) => source[name] !== undefined);
  if (given.length === 0) {
    errors.invalid(field, '', `give one of: ${sourceNames.map((name) => `\`${name}\``).join(', ')}`);
  } else if (given.length > 1) {
    errors.invalid(field, '', 'only one source may be given');
  }
  if (source.fieldRef !== undefined)
    validateFieldRef(source.fieldRef, 'env', field.child('fieldRef'), errors);
  if (source.resourceFieldRef !== undefined) {
    validateResourceFieldRef(source.resourceFieldRef, false, field.child('resourceFieldRef'), errors);
  }
  validateKeyRef(source.configMapKeyRef, field.child('configMapKeyRef'), errors);
  validateKeyRef(source.secretKeyRef, field.child('secretKeyRef'), errors);
  if (source.fileKeyRef !== undefined)
    validateFileKeyRef(source.fileKeyRef, volumes, field.child('fileKeyRef'), errors);
}

function validateKeyRef(ref: KeySelector | undefined, field: LazyFieldPath, errors: FieldErrors): void {
  if (ref === undefined) return;
  errors.requiredCheck(field.child('name'), ref.name, dnsSubdomain);
  errors.requiredCheck(field.child('key'), ref.key, configMapKey);
}

function validateFileKeyRef(
  ref: FileKeySelector,
  volumes: ReadonlyMap<string, Volume>,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  errors.requiredCheck(field.child('key'), ref.key, envVarName);
  errors.requiredCheck(field.child('path'), ref.path, localNonReservedPath);
  const at = field.child('volumeName');
  if (ref.volumeName === '') {
    errors.required(at);
    return;
  }
  const volume = volumes.get(ref.volumeName);
  if (volume === undefined) errors.notFound(at, ref.volumeName);
  else if (volume.emptyDir === undefined)
    errors.invalid(at, ref.volumeName, 'must be a volume of kind emptyDir');
}

/** A field of the pod itself; files may also contain all labels or annotations at once. */
export function validateFieldRef(
  ref: ObjectFieldSelector,
  use: 'env' | 'volume',
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  errors.requiredOneOf(field.child('apiVersion'), ref.apiVersion, ['v1']);
  const at = field.child('fieldPath');
  if (ref.fieldPath === '') {
    errors.required(at);
    return;
  }
  const subscript = /^metadata\.(annotations|labels)\['(.*)'\]$/.exec(ref.fieldPath);
  if (subscript !== null) {
    const key = subscript[2] ?? '';
    const detail = qualifiedName(subscript[1] === 'annotations' ? key.toLowerCase() : key);
    if (detail !== undefined) errors.invalid(at, key, detail);
    return;
  }
  errors.oneOf(at, ref.fieldPath, use === 'env' ? envFields : volumeFields);
}

/** A request or limit of a container. */
export function validateResourceFieldRef(
  ref: ResourceFieldSelector,
  needsContainerName: boolean,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  if (needsContainerName && !ref.containerName) errors.required(field.child('containerName'));
  const at = field.child('resource');
  if (ref.resource === '') {
    errors.required(at);
    return;
  }
  const isHugePages = /^(limits|requests)\.hugepages-./.test(ref.resource);
  if (!isHugePages) errors.oneOf(at, ref.resource, readableResources);
  if (ref.divisor === undefined) return;
  const divisor = tryParseQuantity(ref.divisor);
  const supported = ref.resource.endsWith('.cpu') ? cpuDivisors : byteDivisors;
  if (divisor === undefined) errors.invalid(field.child('divisor'), ref.divisor, 'must be a quantity');
  else if (divisor.nanos !== 0n) errors.oneOf(field.child('divisor'), ref.divisor, supported);
}
