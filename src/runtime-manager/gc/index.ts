/** Garbage collection: dead containers, ended sandboxes, and the logs and directories of deleted pods. */
export { type CollectorOptions, GarbageCollector } from './collector.js';
export {
  type ContainerGcPolicy,
  containersToRemove,
  deadToRemoveAfter,
  sandboxesToRemove,
} from './container-gc.js';
export type { GarbageForecast, GarbageItem, RemovalTime } from './garbage-forecast.js';
export { RecentlyRemoved } from './recently-removed.js';
export { containerRemover, type RemoverOptions } from './remover.js';
