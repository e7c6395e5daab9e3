import { expect, it } from 'vitest';
import { defaultBuckets, Registry } from '../metrics/index.js';
import { countObserved, createPlegMetrics, createRuntimeMetrics, imageSizeLabel } from './metrics.js';

it.each([
  [undefined, 'N/A'],
  [0, '0-10MB'],
  [10 * 1024 ** 2, '0-10MB'],
  [10 * 1024 ** 2 + 1, '10MB-100MB'],
  [100_000 * 1024 ** 2, '60GB-100GB'],
  [100_000 * 1024 ** 2 + 1, 'GT100GB'],
])('an image of %s bytes is counted as %s', (sizeBytes, label) => {
  expect(imageSizeLabel(sizeBytes)).toBe(label);
});

it('durations have the buckets that dashboards know', () => {
  const registry = new Registry();
  const { resizeDurationMs, sandboxDuration } = createRuntimeMetrics(registry);
  resizeDurationMs.observe(1, { success: 'true' });
  sandboxDuration.observe(1, { runtime_handler: '' });
  const bounds = (name: string): number[] =>
    [...registry.text().matchAll(new RegExp(`^${name}_bucket.*le="([0-9.]+)"`, 'gm'))].map(([, bound]) =>
      Number(bound),
    );
  expect(bounds('kubelet_run_podsandbox_duration_seconds')).toEqual(defaultBuckets);
  expect(bounds('kubelet_pod_resize_duration_milliseconds').slice(0, 4)).toEqual([10, 50, 100, 500]);
});

it('running pods are those with a running sandbox, and containers are counted in every state', () => {
  const metrics = createPlegMetrics();
  const sandbox = { id: 's', attempt: 0, createdAtNs: 1n };
  const container = { id: 'c', name: 'c', sandboxId: 's', image: '', imageId: '', hash: '', createdAtNs: 1n };
  const pod = { uid: 'u', name: 'p', namespace: 'default', observedAtMs: 0 };
  countObserved(metrics, [
    {
      ...pod,
      sandboxes: [{ ...sandbox, state: 'running' }],
      containers: [
        { ...container, state: 'running' },
        { ...container, state: 'exited' },
      ],
    },
    { ...pod, sandboxes: [{ ...sandbox, state: 'exited' }], containers: [{ ...container, state: 'exited' }] },
  ]);
  expect(metrics.runningPods.value()).toBe(1);
  const states = ['created', 'running', 'exited', 'unknown'];
  expect(states.map((state) => metrics.containers.value({ container_state: state }))).toEqual([0, 1, 2, 0]);
});
