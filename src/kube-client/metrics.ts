/** The metrics of requests to the API server, under the names that every Kubernetes client has for them. */
import { Registry } from '../metrics/index.js';

const durationBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

export type ApiRequestMetrics = ReturnType<typeof createApiRequestMetrics>;

/** Without a registry nobody reads them. */
export function createApiRequestMetrics(registry = new Registry()) {
  return {
    requests: registry.counter(
      'rest_client_requests_total',
      'Number of HTTP requests, partitioned by status code, method, and host.',
      ['code', 'method', 'host'],
    ),
    duration: registry.histogram(
      'rest_client_request_duration_seconds',
      'Request latency in seconds. Broken down by verb, and host.',
      ['verb', 'host'],
      durationBuckets,
    ),
    rateLimiterWait: registry.histogram(
      'rest_client_rate_limiter_duration_seconds',
      'Client side rate limiter latency in seconds. Broken down by verb, and host.',
      ['verb', 'host'],
      durationBuckets,
    ),
  };
}
