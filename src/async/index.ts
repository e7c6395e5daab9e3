/** Time, tasks, channels and queues. */
export * from './alarm.js';
export * from './backoff.js';
export * from './bounded-map.js';
export * from './byte-reader.js';
export * from './channel.js';
export * from './clock.js';
export * from './error-text.js';
export * from './gate.js';
export * from './task-group.js';
export * from './virtual-clock.js';
export * from './wakeable-sleep.js';
export * from './work-queue.js';
export * from './yielding-semaphore.js';
