/** The metrics of the kubelet's HTTP API: its requests, translated streams and health checks. */
import { Registry } from '../metrics/index.js';

export type RequestMetrics = ReturnType<typeof createRequestMetrics>;

/** Without a registry nobody reads them. */
export function createRequestMetrics(registry = new Registry()) {
  const labelNames = ['method', 'path', 'server_type', 'long_running'] as const;
  return {
    total: registry.counter(
      'kubelet_http_requests_total',
      '[ALPHA] Number of the http requests received since the server started',
      labelNames,
    ),
    inFlight: registry.gauge(
      'kubelet_http_inflight_requests',
      '[ALPHA] Number of the inflight http requests',
      labelNames,
    ),
    duration: registry.histogram(
      'kubelet_http_requests_duration_seconds',
      '[ALPHA] Duration in seconds to serve http requests',
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
      '[ALPHA] Total number of WebSocket streaming requests that are translated here, by subresource.',
      ['subresource'],
    ),
  };
}

/** Served apart from the others, at `/metrics/slis`. */
export function createHealthMetrics(registry: Registry) {
  return {
    current: registry.gauge(
      'kubernetes_healthcheck',
      '[STABLE] This metric records the result of a single healthcheck.',
      ['name', 'type'],
    ),
    total: registry.counter(
      'kubernetes_healthchecks_total',
      '[STABLE] This metric records the results of all healthcheck.',
      ['name', 'status', 'type'],
    ),
  };
}
