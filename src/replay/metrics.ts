/** What is counted of a recording. */
import type { Registry } from '../metrics/index.js';

export function createRecordMetrics(registry: Registry) {
  return {
    active: registry.gauge(
      'nodelet_recording_active',
      'Whether what comes in to the kubelet is recorded (1), or the recording has ended (0).',
    ),
    written: registry.counter(
      'nodelet_recording_written_bytes_total',
      'Bytes that the recording has written to its directory.',
    ),
  };
}
