/** The pod resources API, by which programs of the machine learn who was given which parts of it. */
export type { ListedClaim, ListedDevice, ListedMemory, ResourceSources } from './answers.js';
export { PodResourcesLister } from './gen/pod-resources.js';
export { PodResourcesLister as AlphaPodResourcesLister } from './gen/pod-resources-alpha.js';
export { createPodResourcesMetrics } from './metrics.js';
export { type PodResourcesOptions, podResourcesServices } from './services.js';
