/** The pods API, by which programs of the machine learn of its pods without asking the cluster. */
export { Pods as PodsService } from './gen/pods-api.js';
export { createPodsApiMetrics } from './metrics.js';
export { createPodsApi, type PodsApi, type PodsApiOptions } from './services.js';
