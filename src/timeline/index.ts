/** The flight recorder and its readers. */
export * from './entry.js';
export * from './log.js';
export * from './timeline.js';
