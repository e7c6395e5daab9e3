/** Counts probe results under the reference kubelet's metric names. */
import type { Container, Pod } from '../kube/index.js';
import type { MetricLabels, Registry } from '../metrics/index.js';
import { kindTitles, type ProbeKind } from './contracts.js';

/** The metrics of one probe; removed with its worker. */
export interface ProbeCounts {
  count(result: 'success' | 'failure', durationMs: number): void;
  forget(): void;
}

export type CountProbe = (kind: ProbeKind, pod: Pod, container: Container) => ProbeCounts;

export function probeMetrics(registry: Registry): CountProbe {
  const total = registry.counter(
    'prober_probe_total',
    'Cumulative number of a liveness, readiness or startup probe for a container by result.',
    ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid'],
  );
  const duration = registry.histogram(
    'prober_probe_duration_seconds',
    'Duration in seconds for a probe response.',
    ['probe_type', 'container', 'pod', 'namespace'],
  );
  return (kind, { metadata: { name, namespace, uid } }, container) => {
    const timed: MetricLabels = {
      probe_type: kindTitles[kind],
      container: container.name,
      pod: name,
      namespace,
    };
    const successful: MetricLabels = { ...timed, pod_uid: uid, result: 'successful' };
    const failed: MetricLabels = { ...timed, pod_uid: uid, result: 'failed' };
    return {
      count(result, durationMs) {
        if (result === 'failure') {
          total.inc(failed);
          return;
        }
        total.inc(successful);
        duration.observe(durationMs / 1000, timed);
      },
      forget() {
        total.remove(successful);
        total.remove(failed);
        duration.remove(timed);
      },
    };
  };
}
