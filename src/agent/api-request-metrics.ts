/** The metrics of requests to the API server, under the names of client-go. */
import type { RequestObserver } from '../kube-client/index.js';
import type { Registry } from '../metrics/index.js';

const durationBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

export function apiRequestMetrics(registry: Registry): RequestObserver {
  const requests = registry.counter(
    'rest_client_requests_total',
    'Number of HTTP requests, partitioned by status code, method, and host.',
    ['code', 'method', 'host'],
  );
  const durations = registry.histogram(
    'rest_client_request_duration_seconds',
    'Request latency in seconds. Broken down by verb, and host.',
    ['verb', 'host'],
    durationBuckets,
  );
  const waits = registry.histogram(
    'rest_client_rate_limiter_duration_seconds',
    'Client side rate limiter latency in seconds. Broken down by verb, and host.',
    ['verb', 'host'],
    durationBuckets,
  );
  return {
    waited: ({ method, host }, waitMs, why) => {
      if (why === 'rate-limit') waits.observe(waitMs / 1000, { verb: method, host });
    },
    finished: ({ method, host, watch }, { code, durationMs }) => {
      requests.inc({ code: code === undefined ? '<error>' : String(code), method, host });
      // A watch lasts as long as it is wanted, which says nothing of the server.
      if (!watch) durations.observe(durationMs / 1000, { verb: method, host });
    },
  };
}
