/** The desired pods: merges what sources deliver, and keeps the result. */
export * from './config.js';
export * from './manager.js';
export * from './merge.js';
export * from './types.js';
