/** The pod lifecycle event generator and its cache. */

export { createPlegMetrics, type PlegMetrics } from '../metrics.js';
export { PodCache } from './cache.js';
export {
  comparePods,
  eventsBetween,
  type PlegEventType,
  type PlegState,
  type PodLifecycleEvent,
} from './compare.js';
export {
  containerdEvents,
  criEvents,
  type RuntimeEvent,
  type RuntimeEventKind,
  type RuntimeEventSource,
  type RuntimeEventSourceFactory,
} from './event-sources.js';
export { Pleg, type PlegOptions } from './pleg.js';
export type { PlegRuntime, PodParts, PodReader, ReadPod } from './ports.js';
