/** Configuration of the node agent: the KubeletConfiguration file, drop-ins, flags and feature gates. */
export { type SettingChange, settingChanges } from './changes.js';
export { ConfigurationError } from './config-error.js';
export { baselineConfiguration, defaultEvictionHard } from './defaults.js';
export type { ConfigFiles, DropInEntry } from './drop-ins.js';
export type { FeatureGate, FeatureStage } from './feature-gate-table.js';
export { type FeatureGates, type ResolvedFeatureGates, resolveFeatureGates } from './feature-gates.js';
export { type ConfigField, configFields } from './fields.js';
export {
  defaultKubeletFlags,
  flagSpecs,
  flagsByName,
  type KubeletFlag,
  type KubeletFlags,
} from './flag-table.js';
export { parseLabels } from './flag-values.js';
export { changedFlags, type InertSettings, inertGates, inertSettings } from './inert.js';
export {
  type GuardedFileState,
  guardedFiles,
  type InsecureSetting,
  insecureSettings,
  type SecurityFacts,
} from './insecure-settings.js';
export { labelKeyProblems, labelValueProblems } from './label-syntax.js';
export { type LoadedConfiguration, type LoadOptions, type LoadOutcome, loadConfiguration } from './load.js';
export type { ConfiguredHost } from './rule-context.js';
export { maskedValue, maskSecrets, serializeConfiguration } from './serialize.js';
export { classifiedValue, shownFlags } from './shown-flags.js';
export * from './types.js';
export { usage } from './usage.js';
