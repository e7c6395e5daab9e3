/** The metrics of calls to the container runtime. */
import { Registry } from '../metrics/index.js';
import type { OperationType } from './call-rules.js';

export type CriMetrics = ReturnType<typeof createCriMetrics>;

/** Without a registry, the metrics are not exposed. */
export function createCriMetrics(registry = new Registry()) {
  return {
    operations: registry.counter('kubelet_runtime_operations_total', 'Calls to the container runtime.', [
      'operation_type',
    ]),
    operationErrors: registry.counter(
      'kubelet_runtime_operations_errors_total',
      'Calls to the container runtime that failed.',
      ['operation_type'],
    ),
    operationDuration: registry.histogram(
      'kubelet_runtime_operations_duration_seconds',
      'Duration in seconds of calls to the container runtime.',
      ['operation_type'],
      Array.from({ length: 14 }, (_, n) => 0.005 * 2.5 ** n),
    ),
  };
}

/** Counts one finished call or stream. `error` is its error, even if the caller gets none. */
export function countCall(
  { operations, operationErrors, operationDuration }: CriMetrics,
  operation: OperationType,
  durationMs: number,
  error?: unknown,
): void {
  const labels = { operation_type: operation };
  operations.inc(labels);
  operationDuration.observe(durationMs / 1000, labels);
  if (error !== undefined) operationErrors.inc(labels);
}
