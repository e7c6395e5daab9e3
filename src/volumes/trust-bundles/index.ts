/** Trust bundles for projected volumes. */
export {
  CachedTrustBundles,
  type ClusterTrustBundle,
  type TrustBundleCacheOptions,
  type TrustBundleSource,
} from './trust-bundles.js';
