/** Serializes a configuration in its v1beta1 form, and masks secrets. */
import { formatDuration } from '../kube/index.js';
import { type ConfigTree, readPath, writePath } from './config-path.js';
import { type ConfigField, configFields, optionalStructs } from './fields.js';
import { configApiVersion, configKind, type KubeletConfiguration } from './types.js';

export const maskedValue = '<masked>';

/** Returns the v1beta1 object: durations as Go strings, without empty optional fields, in the reference's field order. */
export function serializeConfiguration(config: KubeletConfiguration): Record<string, unknown> {
  const tree: ConfigTree = { kind: configKind, apiVersion: configApiVersion };
  for (const field of configFields) {
    const value = readPath(config, field.path);
    const [struct = ''] = field.path.split('.');
    const isOptional = optionalStructs.some((name) => name === struct);
    if (isOptional && readPath(config, struct) === undefined) continue;
    writePath(tree, field.path, isWritten(field, value) ? serializeValue(field, value) : undefined);
  }
  return tree;
}

/** Returns a copy with masked secrets, for logs, errors and debugging pages. */
export function maskSecrets(config: KubeletConfiguration): KubeletConfiguration {
  const masked = structuredClone(config);
  masked.staticPodURLHeader = Object.fromEntries(
    Object.keys(masked.staticPodURLHeader).map((name) => [name, [maskedValue]]),
  );
  return masked;
}

function isWritten(field: ConfigField, value: unknown): boolean {
  if (value === undefined) return false;
  if (field.pointer === true || field.alwaysWritten === true) return true;
  if (field.kind === 'duration' || field.kind === 'durationOrNanos') return true;
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return value !== '' && value !== 0 && value !== false;
}

function serializeValue(field: ConfigField, value: unknown): unknown {
  const isDuration = field.kind === 'duration' || field.kind === 'durationOrNanos';
  if (isDuration && typeof value === 'number') return formatDuration(value);
  return structuredClone(value);
}
