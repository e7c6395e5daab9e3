/** Computes a container's environment from its spec and prefetched objects. */
import {
  type AnyContainer,
  type ConfigMap,
  type EnvVar,
  type EnvVarSource,
  formatPod,
  type Pod,
  type Secret,
  type Service,
} from '../../kube/index.js';
import { findInEnvFile } from './env-file.js';
import { parseReferences } from './expansion.js';
import { fieldRefValue, podAddresses } from './field-ref.js';
import { resourceFieldValue } from './resource-field.js';
import { serviceVariables, visibleServices } from './service-env.js';
import type { RuntimeSettings } from './settings.js';

/** Bytes when a secret holds something other than UTF-8; they reach the container unchanged. */
export type EnvValue = string | Uint8Array;

/** The result of a fetch; a failure counts only if the environment needs the object. */
export type FetchedObject<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'missing' }
  | { readonly kind: 'failed'; readonly error: Error };

export type FetchedServices =
  /** Without an API server there are no services, and nothing to wait for. */
  | { readonly kind: 'standalone' }
  | { readonly kind: 'unread' }
  | {
      readonly kind: 'read';
      readonly ofDefault: readonly Service[];
      readonly ofNamespace: readonly Service[];
    };

/** Everything outside the pod that its environment depends on. */
export interface EnvironmentInputs {
  readonly configMaps: ReadonlyMap<string, FetchedObject<ConfigMap>>;
  readonly secrets: ReadonlyMap<string, FetchedObject<Secret>>;
  /** Texts of env files, by `envFileKey`; missing when the volume is not mounted. */
  readonly files: ReadonlyMap<string, FetchedObject<string>>;
  readonly services: FetchedServices;
}

export interface EnvironmentRequest {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly podIps: readonly string[];
  readonly settings: Pick<RuntimeSettings, 'nodeIps' | 'hostIps' | 'nodeAllocatable'>;
  readonly inputs: EnvironmentInputs;
}

export interface EnvironmentNeeds {
  readonly configMaps: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
  readonly files: readonly { readonly volumeName: string; readonly path: string }[];
}

export function envFileKey(volumeName: string, path: string): string {
  return `${volumeName}:${path}`;
}

/** The objects that a container's environment references. */
export function environmentNeeds(container: AnyContainer): EnvironmentNeeds {
  const configMaps = new Set<string>();
  const secrets = new Set<string>();
  const files = new Map<string, { volumeName: string; path: string }>();
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    if (configMapRef !== undefined) configMaps.add(configMapRef.name ?? '');
    else if (secretRef !== undefined) secrets.add(secretRef.name ?? '');
  }
  for (const { value = '', valueFrom } of container.env ?? []) {
    if (value !== '' || valueFrom === undefined) continue;
    const { configMapKeyRef, secretKeyRef, fileKeyRef } = valueFrom;
    if (configMapKeyRef !== undefined) configMaps.add(configMapKeyRef.name ?? '');
    if (secretKeyRef !== undefined) secrets.add(secretKeyRef.name ?? '');
    if (fileKeyRef !== undefined) {
      const { volumeName, path } = fileKeyRef;
      files.set(envFileKey(volumeName, path), { volumeName, path });
    }
  }
  return { configMaps, secrets, files: [...files.values()] };
}

/** Variables in order of first mention; `env` wins over `envFrom`, and both over services. */
export function computeEnvironment(request: EnvironmentRequest): Map<string, EnvValue> {
  const { pod, container, inputs } = request;
  const services = serviceEnvironment(pod, inputs.services);
  const environment = new Map<string, EnvValue>();
  addEnvFrom(environment, request);
  for (const variable of container.env ?? []) {
    const value = variableValue(variable, request, (name) => environment.get(name) ?? services.get(name));
    if (value !== undefined) environment.set(variable.name, value);
  }
  for (const [name, value] of services) {
    if (!environment.has(name)) environment.set(name, value);
  }
  return environment;
}

function serviceEnvironment(pod: Pod, services: FetchedServices): Map<string, string> {
  const { enableServiceLinks } = pod.spec;
  if (enableServiceLinks === undefined) {
    throw new Error('nil pod.spec.enableServiceLinks encountered, cannot construct envvars');
  }
  switch (services.kind) {
    case 'standalone':
      return new Map();
    case 'unread':
      throw new Error('services have not yet been read at least once, cannot construct envvars');
    case 'read':
      return serviceVariables(visibleServices(services, pod.metadata.namespace, enableServiceLinks));
  }
}

function addEnvFrom(environment: Map<string, EnvValue>, { container, inputs }: EnvironmentRequest): void {
  for (const { prefix = '', configMapRef, secretRef } of container.envFrom ?? []) {
    if (configMapRef !== undefined) {
      const configMap = resolve(inputs.configMaps, 'configmap', configMapRef);
      for (const [key, value] of Object.entries(configMap?.data ?? {})) environment.set(prefix + key, value);
    } else if (secretRef !== undefined) {
      const secret = resolve(inputs.secrets, 'secret', secretRef);
      for (const [key, value] of Object.entries(secret?.data ?? {})) {
        environment.set(prefix + key, decodeSecret(value));
      }
    }
  }
}

/** Undefined when the variable is omitted. */
function variableValue(
  { name, value = '', valueFrom }: EnvVar,
  request: EnvironmentRequest,
  lookup: (name: string) => EnvValue | undefined,
): EnvValue | undefined {
  if (value !== '') return expandValue(value, lookup);
  if (valueFrom === undefined) return '';
  return sourceValue(name, valueFrom, request);
}

function sourceValue(name: string, source: EnvVarSource, request: EnvironmentRequest): EnvValue | undefined {
  const { pod, container, podIps, settings, inputs } = request;
  const namespace = pod.metadata.namespace;
  if (source.fieldRef !== undefined) {
    return fieldRefValue(source.fieldRef, pod, podAddresses(pod, podIps, settings));
  }
  if (source.resourceFieldRef !== undefined) {
    return resourceFieldValue(source.resourceFieldRef, pod, container, settings.nodeAllocatable);
  }
  if (source.configMapKeyRef !== undefined) {
    const selector = source.configMapKeyRef;
    const data = resolve(inputs.configMaps, 'configmap', selector)?.data;
    return keyValue(data, selector, `ConfigMap ${namespace}/${selector.name ?? ''}`);
  }
  if (source.secretKeyRef !== undefined) {
    const selector = source.secretKeyRef;
    const data = resolve(inputs.secrets, 'secret', selector)?.data;
    const value = keyValue(data, selector, `Secret ${namespace}/${selector.name ?? ''}`);
    return value === undefined ? undefined : decodeSecret(value);
  }
  if (source.fileKeyRef !== undefined) return fileValue(source.fileKeyRef, inputs);
  throw new Error(
    `env variable ${name} of container ${container.name} in pod "${formatPod(pod)}" has a valueFrom that names no known source; use fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef or fileKeyRef`,
  );
}

/** The object; undefined when it is missing and optional. */
function resolve<T>(
  objects: ReadonlyMap<string, FetchedObject<T>>,
  resource: 'configmap' | 'secret',
  { name = '', optional = false }: { name?: string; optional?: boolean },
): T | undefined {
  const fetched = objects.get(name) ?? { kind: 'missing' };
  switch (fetched.kind) {
    case 'found':
      return fetched.value;
    case 'missing':
      if (optional) return undefined;
      throw new Error(`${resource} "${name}" not found`);
    case 'failed':
      throw fetched.error;
  }
}

function keyValue(
  data: Readonly<Record<string, string>> | undefined,
  { key, optional = false }: { key: string; optional?: boolean },
  place: string,
): string | undefined {
  if (data !== undefined && Object.hasOwn(data, key)) return data[key];
  if (optional) return undefined;
  throw new Error(`couldn't find key ${key} in ${place}`);
}

function fileValue(
  selector: NonNullable<EnvVarSource['fileKeyRef']>,
  inputs: EnvironmentInputs,
): string | undefined {
  const { volumeName, path, key, optional = false } = selector;
  const file = inputs.files.get(envFileKey(volumeName, path)) ?? { kind: 'missing' };
  if (file.kind === 'missing') {
    throw new Error(`cannot find the volume "${volumeName}" referenced by FileKeyRef`);
  }
  if (file.kind === 'failed') throw new Error("couldn't parse env file", { cause: file.error });
  let value: string | undefined;
  try {
    value = findInEnvFile(file.value, key);
  } catch (cause) {
    throw new Error("couldn't parse env file", { cause });
  }
  if (value !== undefined && value !== '') return value;
  if (optional) return undefined;
  throw new Error(`environment variable key "${key}" not found in file "${path}"`);
}

function expandValue(text: string, lookup: (name: string) => EnvValue | undefined): EnvValue {
  const parts = parseReferences(text).map((segment) =>
    typeof segment === 'string' ? segment : (lookup(segment.name) ?? segment.literal),
  );
  if (parts.every((part) => typeof part === 'string')) return parts.join('');
  return Buffer.concat(parts.map(envBytes));
}

/** The API encodes secrets in base64. */
function decodeSecret(base64: string): EnvValue {
  const bytes = Buffer.from(base64, 'base64');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes;
  }
}

export function envBytes(value: EnvValue): Uint8Array {
  return typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
}
