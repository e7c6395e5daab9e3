/** Applies defaults to the settings of a document, and gives the configuration without a document. */
import { type ConfigTree, writePath } from './config-path.js';
import type { DocumentSettings } from './decode.js';
import type { FeatureGates } from './feature-gates.js';
import { type ConfigField, configFields, optionalStructs, zeroValue } from './fields.js';
import type { ConfigPath, KubeletConfiguration } from './types.js';

/** The hard eviction thresholds when the configuration file has no `evictionHard`. */
export const defaultEvictionHard: Readonly<Record<string, string>> = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

const defaultMaxContainerRestartPeriodMs = 300_000;

export function emptySettings(): DocumentSettings {
  return { values: new Map(), structs: new Set() };
}

export function applyDefaults(settings: DocumentSettings, gates: FeatureGates): KubeletConfiguration {
  const tree: ConfigTree = {};
  const derived = derivedDefaults(settings, gates);
  for (const field of configFields) {
    const value = settledValue(field, settings.values.get(field.path), derived);
    const [struct = ''] = field.path.split('.');
    const isOptional = optionalStructs.some((name) => name === struct);
    if (isOptional && value === undefined && !settings.structs.has(struct)) continue;
    writePath(tree, field.path, structuredClone(value));
  }
  // The table has a row for every field, and each row was written with a value of its kind.
  return tree as unknown as KubeletConfiguration;
}

function settledValue(
  field: ConfigField,
  value: unknown,
  derived: ReadonlyMap<ConfigPath, unknown>,
): unknown {
  const fallback = derived.has(field.path) ? derived.get(field.path) : field.default;
  if (value === undefined) {
    if (fallback !== undefined) return fallback;
    return field.pointer === true ? undefined : zeroValue(field.kind);
  }
  if (field.path === 'podPidsLimit' && typeof value === 'number' && value < 0) return -1;
  if (field.pointer !== true && fallback !== undefined && value === zeroValue(field.kind)) return fallback;
  return value;
}

/** Defaults that depend on other settings or on gates. */
function derivedDefaults(settings: DocumentSettings, gates: FeatureGates): Map<ConfigPath, unknown> {
  const derived = new Map<ConfigPath, unknown>();
  const updateFrequencyMs = settings.values.get('nodeStatusUpdateFrequency');
  if (typeof updateFrequencyMs === 'number' && updateFrequencyMs !== 0) {
    derived.set('nodeStatusReportFrequency', updateFrequencyMs);
  }
  const parallelPulls = settings.values.get('maxParallelImagePulls');
  if (typeof parallelPulls === 'number' && parallelPulls >= 2) derived.set('serializeImagePulls', false);
  if (gates.enabled('KubeletCrashLoopBackOffMax')) {
    derived.set('crashLoopBackOff.maxContainerRestartPeriod', defaultMaxContainerRestartPeriodMs);
  }
  if (!gates.enabled('KubeletEnsureSecretPulledImages')) {
    derived.set('imagePullCredentialsVerificationPolicy', '');
  }
  return derived;
}

/** The configuration without `--config`: the defaults, but open to everyone, as in the reference. */
export function baselineConfiguration(gates: FeatureGates): KubeletConfiguration {
  const config = applyDefaults(emptySettings(), gates);
  config.authentication.anonymous.enabled = true;
  config.authentication.webhook.enabled = false;
  config.authorization.mode = 'AlwaysAllow';
  config.readOnlyPort = 10255;
  return config;
}

/** Sets the hard eviction thresholds of a `--config` file. Drop-ins and flags are applied later. */
export function applyEvictionDefaults(config: KubeletConfiguration, settings: DocumentSettings): void {
  if (!settings.values.has('evictionHard')) config.evictionHard = { ...defaultEvictionHard };
  else if (config.mergeDefaultEvictionSettings) {
    config.evictionHard = { ...defaultEvictionHard, ...config.evictionHard };
  }
}
