/** The metrics of requests to the API server, under the names that every Kubernetes client has for them. */
import { Registry } from '../metrics/index.js';

const durationBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const sizeBuckets = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];
const certificateAgeBuckets = [
  600, 1800, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000,
];

export type ApiRequestMetrics = ReturnType<typeof createApiRequestMetrics>;

/** Without a registry nobody reads them. */
export function createApiRequestMetrics(registry = new Registry()) {
  return {
    requests: registry.counter(
      'rest_client_requests_total',
      'Requests to API servers, by the code of the answer.',
      ['code', 'method', 'host'],
    ),
    retries: registry.counter(
      'rest_client_request_retries_total',
      'Requests that were sent once more, by the code of the answer before.',
      ['code', 'verb', 'host'],
    ),
    duration: registry.histogram(
      'rest_client_request_duration_seconds',
      'Seconds from a request to the head of its answer.',
      ['verb', 'host'],
      durationBuckets,
    ),
    dnsDuration: registry.histogram(
      'rest_client_dns_resolution_duration_seconds',
      'Seconds that it took to find the address of the API server.',
      ['host'],
      durationBuckets.slice(0, -1),
    ),
    requestBytes: registry.histogram(
      'rest_client_request_size_bytes',
      'Sizes of the bodies of requests.',
      ['verb', 'host'],
      sizeBuckets,
    ),
    responseBytes: registry.histogram(
      'rest_client_response_size_bytes',
      'Sizes of the bodies of answers.',
      ['verb', 'host'],
      sizeBuckets,
    ),
    rateLimiterWait: registry.histogram(
      'rest_client_rate_limiter_duration_seconds',
      'Seconds that requests waited so as not to be too many.',
      ['verb', 'host'],
      durationBuckets,
    ),
    transports: registry.gauge(
      'rest_client_transport_cache_entries',
      'Sets of connections to API servers, one for each server and identity.',
    ),
    transportCalls: registry.counter(
      'rest_client_transport_create_calls_total',
      'Requests for a set of connections: miss if a new one had to be made.',
      ['result'],
    ),
    ...createExecPluginMetrics(registry),
  };
}

export type ExecPluginMetrics = ReturnType<typeof createExecPluginMetrics>;

/** Of a credential program. Without a registry nobody reads them. */
export function createExecPluginMetrics(registry = new Registry()) {
  const ttl = registry.gauge(
    'rest_client_exec_plugin_ttl_seconds',
    'Seconds until the credentials of the program expire; +Inf while it has given none that do.',
  );
  ttl.set(Number.POSITIVE_INFINITY);
  /** When the newest credentials expire, by the clock of `now`. */
  let expiry: { readonly atMs: number; readonly now: () => number } | undefined;
  registry.onCollect(() => {
    if (expiry !== undefined) ttl.set((expiry.atMs - expiry.now()) / 1000);
  });
  return {
    pluginCalls: registry.counter(
      'rest_client_exec_plugin_call_total',
      'Runs of the credential program, by exit code and by how they ended.',
      ['code', 'call_status'],
    ),
    pluginCertificateAge: registry.histogram(
      'rest_client_exec_plugin_certificate_rotation_age',
      'Seconds that a certificate of the program was valid for before the next one replaced it.',
      [],
      certificateAgeBuckets,
    ),
    pluginExpires: (atMs: number, now: () => number): void => {
      expiry = { atMs, now };
    },
  };
}
