/** The metrics that every queue of a Kubernetes component has, by the name of the queue. */
import type { Registry } from './registry.js';

const bucketCount = 10;
const timeBuckets = [1e-8];
while (timeBuckets.length < bucketCount) timeBuckets.push(10 * (timeBuckets.at(-1) ?? 0));

export function createWorkQueueMetrics(registry: Registry) {
  const labels = ['name'] as const;
  return {
    depth: registry.gauge('workqueue_depth', '[BETA] Items that wait.', labels),
    adds: registry.counter('workqueue_adds_total', '[BETA] Items that came.', labels),
    retries: registry.counter('workqueue_retries_total', '[BETA] Items that came back.', labels),
    wait: registry.histogram(
      'workqueue_queue_duration_seconds',
      '[BETA] Seconds that items waited.',
      labels,
      timeBuckets,
    ),
    work: registry.histogram(
      'workqueue_work_duration_seconds',
      '[BETA] Seconds that the work on an item took.',
      labels,
      timeBuckets,
    ),
    unfinished: registry.gauge(
      'workqueue_unfinished_work_seconds',
      '[BETA] Seconds of work on items that is not done yet, all together.',
      labels,
    ),
    longest: registry.gauge(
      'workqueue_longest_running_processor_seconds',
      '[BETA] Seconds of the longest work that is not done yet.',
      labels,
    ),
  };
}

/** Follows the items of one queue. */
export class WorkQueueWatch {
  readonly #metrics: ReturnType<typeof createWorkQueueMetrics>;
  readonly #name: { readonly name: string };
  readonly #nowMs: () => number;
  /** When the work on each item began. */
  readonly #underway = new Set<{ readonly sinceMs: number }>();

  /** `nowMs` is a monotonic clock. */
  constructor(registry: Registry, name: string, nowMs: () => number) {
    this.#metrics = registry.once(createWorkQueueMetrics);
    this.#name = { name };
    this.#nowMs = nowMs;
    // Zeroes are shown before the first item.
    this.#metrics.depth.set(0, this.#name);
    this.#metrics.adds.inc(this.#name, 0);
    this.#metrics.retries.inc(this.#name, 0);
    registry.onCollect(() => {
      const seconds = [...this.#underway].map(({ sinceMs }) => (nowMs() - sinceMs) / 1000);
      this.#metrics.unfinished.set(
        seconds.reduce((sum, one) => sum + one, 0),
        this.#name,
      );
      this.#metrics.longest.set(Math.max(0, ...seconds), this.#name);
    });
  }

  /** An item waits from now on; the result wraps the work on it. */
  added(): <T>(work: () => Promise<T>) => Promise<T> {
    const { depth, adds, wait, work: duration } = this.#metrics;
    adds.inc(this.#name);
    depth.inc(this.#name);
    const addedMs = this.#nowMs();
    return async (work) => {
      const item = { sinceMs: this.#nowMs() };
      depth.inc(this.#name, -1);
      wait.observe((item.sinceMs - addedMs) / 1000, this.#name);
      this.#underway.add(item);
      try {
        return await work();
      } finally {
        this.#underway.delete(item);
        duration.observe((this.#nowMs() - item.sinceMs) / 1000, this.#name);
      }
    };
  }
}
