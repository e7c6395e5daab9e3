/** Objects of a node without an API server: ConfigMaps, Secrets, and volumes with their claims. */
export { ObjectDirectory, type ObjectDirectoryOptions } from './object-directory.js';
export type { ObjectIdentity, ObjectSet } from './object-index.js';
export { type ReadObjects, readObjects } from './read-objects.js';
export {
  type StandaloneObjectChange,
  StandaloneObjects,
  type StandaloneObjectsOptions,
} from './standalone-objects.js';
