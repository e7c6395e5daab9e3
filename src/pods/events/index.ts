/** Kubernetes events; a separate room, so that a node without an API never loads its client. */
export { type Correlated, EventCorrelator, type EventPatch } from './correlator.js';
export { eventNames, eventOf } from './event-object.js';
export {
  ApiEventRecorder,
  type ApiEventRecorderOptions,
  eventRate,
  type PodActivity,
} from './event-recorder.js';
