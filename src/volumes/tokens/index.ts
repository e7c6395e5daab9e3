/** Service account tokens for projected volumes. */
export {
  CachedServiceAccountTokens,
  noTokenEndpoint,
  type RequestToken,
  type TokenCacheOptions,
  type TokenRequest,
} from './service-account-tokens.js';
export { type IssuedToken, isExpired, needsRefresh } from './token-refresh.js';
