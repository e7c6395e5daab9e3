/** Configuration of the node agent: the KubeletConfiguration file, drop-ins, flags and feature gates. */
export { ConfigurationError } from './configerror.js';
export { parseCpuSet } from './cpuset.js';
export { baselineConfiguration, defaultEvictionHard } from './defaults.js';
export type { ConfigFiles, DirectoryEntry } from './dropins.js';
export { type FeatureGates, type ResolvedFeatureGates, resolveFeatureGates } from './featuregates.js';
export type { FeatureGate, FeatureStage } from './featuregatetable.js';
export { configFields, type Field } from './fields.js';
export { defaultKubeletFlags, type FlagSpec, flagSpecs, type KubeletFlags } from './flagtable.js';
export { changedFlags, type InertSettings, inertGates, inertSettings } from './inert.js';
export {
  type FoundFile,
  guardedFiles,
  type InsecureSetting,
  insecureSettings,
  type SecurityFacts,
} from './insecure-settings.js';
export { type LoadedConfiguration, type LoadOptions, type LoadOutcome, loadConfiguration } from './load.js';
export type { HostFacts } from './rulecontext.js';
export { maskedValue, maskSecrets, serializeConfiguration } from './serialize.js';
export * from './types.js';
export { usage } from './usage.js';
