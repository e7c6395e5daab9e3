/** Tracing that is on: the tracer, what it reads of the timeline, and the queue in front of the collector. */
import { type Clock, TaskGroup } from '../../async/index.js';
import type { Registry } from '../../metrics/index.js';
import type { Timeline } from '../../timeline/index.js';
import { traceLimits } from '../limits.js';
import type { Tracer } from '../tracer.js';
import { defaultCollector } from './collector-endpoint.js';
import { createTracingMetrics } from './metrics.js';
import { OtlpExporter } from './otlp-exporter.js';
import { PodTraces } from './pod-traces.js';
import { RecordingTracer } from './recording-tracer.js';
import { type SpanExporter, SpanQueue } from './span-queue.js';

export interface TracingOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly registry: Registry;
  readonly nodeName: string;
  /** The agent's own version. */
  readonly version: string;
  /** As configured. */
  readonly settings: {
    /** @default localhost:4317 */
    readonly endpoint?: string | undefined;
    /** Of the traces that begin here; those of callers are kept as their callers keep them. Default 0. */
    readonly samplingRatePerMillion?: number | undefined;
  };
  /** @default OTLP over gRPC to the endpoint */
  readonly exporter?: SpanExporter;
}

export interface OpenTracing {
  readonly tracer: Tracer;
  /** Sends what is left, for a few seconds at most. */
  close(): Promise<void>;
}

export function openTracing(options: TracingOptions): OpenTracing {
  const { clock, timeline, registry, nodeName, version, settings } = options;
  const endpoint = settings.endpoint || defaultCollector;
  const exporter =
    options.exporter ??
    new OtlpExporter({
      endpoint,
      version,
      resource: { 'service.name': 'kubelet', 'service.version': version, 'host.name': nodeName },
    });
  const queue = new SpanQueue({
    clock,
    exporter,
    metrics: registry.once(createTracingMetrics),
    onState: ({ failed, lostSpans = 0 }) =>
      timeline.record(
        failed === undefined
          ? {
              kind: 'notice',
              what: 'tracing.export',
              message: `the collector at ${endpoint} takes traces again; ${lostSpans} spans were lost`,
              data: { lostSpans },
            }
          : {
              kind: 'problem',
              what: 'tracing.export',
              message: `the collector at ${endpoint} does not take traces; spans are dropped until it does: ${failed}`,
              level: 'warn',
            },
      ),
  });
  const tracer = new RecordingTracer({
    clock,
    samplingRatePerMillion: settings.samplingRatePerMillion ?? 0,
    onEnd: (span) => queue.add(span),
  });
  const pods = new PodTraces(tracer);
  tracer.follow(pods);
  const unsubscribe = timeline.subscribe((entry) => pods.read(entry));
  const tasks = new TaskGroup({
    onError: (task, error) =>
      timeline.record({ kind: 'problem', what: 'agent.task', message: `${task} failed`, error }),
  });
  tasks.start('the export of traces', (signal) => queue.run(signal));
  return {
    tracer,
    async close() {
      unsubscribe();
      pods.close();
      await tasks.stop();
      const limit = new AbortController();
      const timer = clock.setTimer(traceLimits.lastExportMs, () => limit.abort());
      await queue.flush(limit.signal);
      timer.cancel();
      exporter.close();
    },
  };
}
