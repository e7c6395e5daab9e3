/** The controllers of one node: they make pods of workloads, give them to the node, and clean up. */
export { type Controllers, type ControllersOptions, createControllers } from './create-controllers.js';
export type { ObjectEvent, ObjectEvents } from './events/object-events.js';
export { controllerLimits } from './limits.js';
