/** The metrics of probes: a few for each, under the names that dashboards know. */
import type { Container, Pod } from '../kube/index.js';
import { type MetricLabels, Registry } from '../metrics/index.js';
import { kindTitles, type ProbeKind } from './contracts.js';

export type ProbeMetrics = ReturnType<typeof createProbeMetrics>;

/** Without a registry nobody reads them. */
export function createProbeMetrics(registry = new Registry()) {
  return {
    total: registry.counter('prober_probe_total', '[BETA] Probes of containers, by kind and result.', [
      'probe_type',
      'result',
      'container',
      'pod',
      'namespace',
      'pod_uid',
    ]),
    duration: registry.histogram(
      'prober_probe_duration_seconds',
      'Duration in seconds for a probe response.',
      ['probe_type', 'container', 'pod', 'namespace'],
    ),
  };
}

type TimedLabel = 'probe_type' | 'container' | 'pod' | 'namespace';
type TotalLabels = MetricLabels<TimedLabel | 'result' | 'pod_uid'>;

/** The series of one probe; removed with its worker. Its labels are made once, not with every run. */
export class ProbeCounts {
  readonly #metrics: ProbeMetrics;
  readonly #timed: MetricLabels<TimedLabel>;
  readonly #successful: TotalLabels;
  readonly #failed: TotalLabels;

  constructor(metrics: ProbeMetrics, kind: ProbeKind, { metadata }: Pod, container: Container) {
    const { name, namespace, uid } = metadata;
    this.#metrics = metrics;
    this.#timed = { probe_type: kindTitles[kind], container: container.name, pod: name, namespace };
    this.#successful = { ...this.#timed, pod_uid: uid, result: 'successful' };
    this.#failed = { ...this.#timed, pod_uid: uid, result: 'failed' };
  }

  count(result: 'success' | 'failure', durationMs: number): void {
    const { total, duration } = this.#metrics;
    if (result === 'failure') {
      total.inc(this.#failed);
      return;
    }
    total.inc(this.#successful);
    duration.observe(durationMs / 1000, this.#timed);
  }

  forget(): void {
    const { total, duration } = this.#metrics;
    total.remove(this.#successful);
    total.remove(this.#failed);
    duration.remove(this.#timed);
  }
}
