/** Service account tokens for projected volumes. */
export {
  CachedServiceAccountTokens,
  noTokenEndpoint,
  type PodTokenRequest,
  type RequestToken,
  type TokenCacheOptions,
} from './service-account-tokens.js';
export { type IssuedToken, isExpired, needsRefresh } from './token-refresh.js';
