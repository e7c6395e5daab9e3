/** The pod lifecycle event generator and its cache. */
export { PodCache } from './cache.js';
export {
  comparePods,
  eventsBetween,
  type PlegEventType,
  type PlegState,
  type PodLifecycleEvent,
} from './compare.js';
export { Pleg, type PlegObserver, type PlegOptions, type PlegRuntime } from './pleg.js';
export {
  containerdEvents,
  criEvents,
  type EventSource,
  type EventSourceFactory,
  type RuntimeEvent,
} from './runtime-events.js';
