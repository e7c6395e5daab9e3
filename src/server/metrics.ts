/** The metrics of the kubelet's HTTP API: its requests, translated streams and health checks. */
import { Registry } from '../metrics/index.js';

export type RequestMetrics = ReturnType<typeof createRequestMetrics>;

/** Without a registry nobody reads them. */
export function createRequestMetrics(registry = new Registry()) {
  const labelNames = ['method', 'path', 'server_type', 'long_running'] as const;
  return {
    total: registry.counter('kubelet_http_requests_total', 'Requests that were received.', labelNames),
    inFlight: registry.gauge(
      'kubelet_http_inflight_requests',
      'Requests that are being answered.',
      labelNames,
    ),
    duration: registry.histogram(
      'kubelet_http_requests_duration_seconds',
      'Seconds that answers took.',
      labelNames,
    ),
  };
}

export type StreamMetrics = ReturnType<typeof createStreamMetrics>;

/** Without a registry nobody reads them. */
export function createStreamMetrics(registry = new Registry()) {
  return {
    translated: registry.counter(
      'kubelet_websocket_streaming_requests_total',
      'Total number of WebSocket streaming requests that are translated here, by subresource.',
      ['subresource'],
    ),
  };
}

export type AuthMetrics = ReturnType<typeof createAuthMetrics>;

const reviewBuckets = [0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10];

/** Of the questions who a client is and what it may do. Without a registry nobody reads them. */
export function createAuthMetrics(registry = new Registry()) {
  const reviews = (kind: 'authn' | 'authz', what: string) => ({
    total: registry.counter(
      `apiserver_delegated_${kind}_request_total`,
      `Reviews of ${what} that the API server was asked for, by the code of its answer.`,
      ['code'],
    ),
    duration: registry.histogram(
      `apiserver_delegated_${kind}_request_duration_seconds`,
      `Seconds that reviews of ${what} took, by the code of the answer.`,
      ['code'],
      reviewBuckets,
    ),
  });
  return {
    tokenReviews: reviews('authn', 'tokens'),
    accessReviews: reviews('authz', 'access'),
    tokens: {
      requests: registry.counter(
        'authentication_token_cache_request_total',
        'Tokens that clients showed: hit if it was known whose they are.',
        ['status'],
      ),
      duration: registry.histogram(
        'authentication_token_cache_request_duration_seconds',
        'Seconds until it was known whose a token is.',
        ['status'],
      ),
      fetches: registry.counter(
        'authentication_token_cache_fetch_total',
        'Reviews for tokens that were not known, by how they ended.',
        ['status'],
      ),
      active: registry.gauge(
        'authentication_token_cache_active_fetch_count',
        'Reviews of tokens that are under way, and requests that wait for one of another request.',
        ['status'],
      ),
    },
    certificateLife: registry.histogram(
      'apiserver_client_certificate_expiration_seconds',
      'Seconds that the certificates of clients were still valid for at each request.',
      [],
      [
        0, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 345600, 604800, 2592000, 7776000, 15552000,
        31104000,
      ],
    ),
  };
}

/** Served apart from the others, at `/metrics/slis`. */
export function createHealthMetrics(registry: Registry) {
  return {
    current: registry.gauge(
      'kubernetes_healthcheck',
      '[STABLE] The last result of a health check: 1 if it passed.',
      ['name', 'type'],
    ),
    total: registry.counter('kubernetes_healthchecks_total', '[STABLE] Health checks by result.', [
      'name',
      'status',
      'type',
    ]),
  };
}
