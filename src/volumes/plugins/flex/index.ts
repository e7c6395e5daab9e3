/** Volumes of flexVolume drivers. */
export { flexPrograms, type RunFlexDriver } from './flex-driver.js';
export { flexVolumes } from './flex-volumes.js';
