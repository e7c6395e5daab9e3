/** Devices of block volumes as pods get them. */
export * from './device-map.js';
