/** The Kubernetes API client; separate from the objects, so that a node without an API never loads it. */

export * from '../x509/certificate.js';
export * from './api-error.js';
export type * from './api-objects.js';
export * from './authorizer-lag.js';
export * from './connect.js';
export {
  anonymous,
  type ClientCertificate,
  type Credential,
  type Credentials,
  credentialsOf,
  pairProblem,
} from './credentials.js';
export * from './kubeconfig.js';
export { type ApiRequestMetrics, createApiRequestMetrics } from './metrics.js';
export { type MergeSchema, mergeSchemaOf } from './patches/merge-keys.js';
export { strategicMergeDiff } from './patches/strategic-diff.js';
export type * from './port.js';
export { type RateLimiter, TokenBucket, unlimited } from './rate-limiter.js';
export {
  Informer,
  type InformerOptions,
  type InformerUpdate,
  type ObjectCache,
} from './reflector/informer.js';
export {
  Reflector,
  type ReflectorChange,
  type ReflectorOptions,
  type ReflectorSink,
} from './reflector/reflector.js';
export {
  apiVersionOf,
  type ObjectSubresource,
  type PostedStatus,
  type PostedSubresource,
  qualifiedPlural,
  type Resource,
  resources,
  subresources,
} from './resources.js';
export { strongClientTls, tls12Suites, tls13Suites } from './tls-suites.js';
