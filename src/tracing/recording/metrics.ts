/** The metrics of exported traces. */
import type { Registry } from '../../metrics/index.js';

export type TracingMetrics = ReturnType<typeof createTracingMetrics>;

export function createTracingMetrics(registry: Registry) {
  return {
    exported: registry.counter('nodelet_trace_spans_exported_total', 'Spans that the collector accepted.'),
    dropped: registry.counter('nodelet_trace_spans_dropped_total', 'Spans that were lost, by cause.', [
      'cause',
    ]),
    waiting: registry.gauge('nodelet_trace_spans_waiting', 'Spans that wait to be exported.'),
  };
}
