/** Desired pods, their workers and their statuses. */
export * from './desired/index.js';
export * from './metrics.js';
export * from './objects/standalone/index.js';
export * from './sources/index.js';
export * from './status/index.js';
export * from './workers/index.js';
