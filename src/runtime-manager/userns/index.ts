/** User namespaces of pods. */
export type { IdMapping, UserNamespaceMapping } from './id-blocks.js';
export { idMappingsInForce } from './in-force.js';
export { UserNamespaces, type UserNamespacesOptions, usersUnsupported } from './user-namespaces.js';
