/** The pods that should be here: merging what sources deliver, and remembering the result. */
export * from './config.js';
export * from './manager.js';
export * from './merge.js';
export * from './types.js';
