/** The pod lifecycle event generator and its cache. */
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
export type { PlegObserver, PlegRuntime, PodParts, ReadingById, ReadPod } from './ports.js';
