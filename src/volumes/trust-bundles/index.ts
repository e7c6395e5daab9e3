/** Trust bundles for projected volumes. */
export {
  CachedTrustBundles,
  type TrustBundleCacheOptions,
  type TrustBundleSource,
  type VolumeTrustBundle,
} from './trust-bundles.js';
