import { expect, it } from 'vitest';
import { Registry } from './registry.js';
import { samples } from './test-samples.js';
import { WorkQueueWatch } from './work-queue.js';

it('follows the items of a queue', async () => {
  const registry = new Registry();
  let nowMs = 0;
  const queue = new WorkQueueWatch(registry, 'q', () => nowMs);
  const seen = (): Record<string, number> =>
    Object.fromEntries(
      Object.entries(samples(registry)).map(([name, value]) => [
        name.replace(/^workqueue_(.*)\{name="q"\}$/, '$1'),
        value,
      ]),
    );
  expect(seen()).toEqual({
    adds_total: 0,
    depth: 0,
    retries_total: 0,
    unfinished_work_seconds: 0,
    longest_running_processor_seconds: 0,
  });
  const first = queue.added();
  const second = queue.added();
  nowMs = 1_000;
  let finish = (): void => undefined;
  const working = first(() => new Promise<void>((resolve) => (finish = resolve)));
  nowMs = 3_000;
  expect(seen()).toMatchObject({
    adds_total: 2,
    depth: 1,
    queue_duration_seconds_sum: 1,
    unfinished_work_seconds: 2,
    longest_running_processor_seconds: 2,
  });
  finish();
  await working;
  await expect(second(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(seen()).toMatchObject({
    depth: 0,
    queue_duration_seconds_count: 2,
    queue_duration_seconds_sum: 4,
    work_duration_seconds_count: 2,
    work_duration_seconds_sum: 2,
    unfinished_work_seconds: 0,
  });
  expect(registry.text()).toContain('le="9.999999999999999e-06"');
});
