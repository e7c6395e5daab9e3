/** User namespaces of pods. */
export type { IdMapping, UserNamespaceMapping } from './id-blocks.js';
export { idPool } from './id-pool.js';
export { idMappingsInForce } from './in-force.js';
export { readSubordinateIds } from './subordinate-ids.js';
export { UserNamespaces, type UserNamespacesOptions, usersUnsupported } from './user-namespaces.js';
