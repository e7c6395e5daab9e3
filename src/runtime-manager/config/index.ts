/** Builds the CRI configs of sandboxes and containers, and the files they need. */
export { appArmorAnnotationPrefix } from './confinement.js';
export type {
  EnvSources,
  ObjectReader,
  ServiceSource,
} from './env-inputs.js';
export { expand } from './expansion.js';
export { filelessPodConfigs } from './fileless.js';
export { type MachineFacts, readMachineFacts } from './machine-facts.js';
export { machineNodeFiles, type NodeFiles } from './node-files.js';
export {
  containerDirectory,
  containerLogDirectory,
  containerLogPath,
  podDirectory,
  podLogDirectory,
} from './paths.js';
export { FilePodConfigs, imageUserFromRuntime, type PodConfigsOptions } from './pod-configs.js';
export { parseResolvConf, resolvConfLimitProblem } from './resolv-conf.js';
export { containerResources, overheadResources, sandboxResources } from './resources.js';
export {
  type MemoryQosSettings,
  type RuntimeSettings,
  type RuntimeSettingsOptions,
  runtimeSettings,
  type SwapBehavior,
  type SwapSettings,
} from './settings.js';
