/** API objects that pods use; a separate room, so that a node without an API never loads its client. */
export { ApiClaims } from './claims.js';
export { ApiRuntimeClasses, ApiServices, type ClusterListOptions } from './cluster-lists.js';
export {
  type ApiObjectChange,
  ApiObjectStore,
  type ApiObjectStoreOptions,
  type ChangeDetectionStrategy,
} from './object-store.js';
export { ApiTrustBundles, type ApiTrustBundlesOptions } from './trust-bundles.js';
