/** Expansion on the node: when a volume is made larger, and what its claim says of that. */
export {
  type ExpansionEffect,
  type ExpansionPorts,
  type ExpansionSubject,
  expandInUse,
  expandMounted,
} from './expand-volume.js';
export { storageBytes } from './expansion-decision.js';
export { VolumeSizes } from './volume-sizes.js';
