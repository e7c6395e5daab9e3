import { expect, it } from 'vitest';
import type { Pod } from '../kube/index.js';
import { Registry } from '../metrics/index.js';
import { samples } from '../metrics/test-samples.js';
import { createApiPodMetrics, registerEphemeralContainers } from './metrics.js';

it('ephemeral containers are counted as they are when the metrics are read', () => {
  const registry = new Registry();
  const pods: Pod[] = [];
  registerEphemeralContainers(registry, () => pods);
  const debug = { name: 'd', image: 'i' };
  pods.push({
    metadata: { uid: 'u', name: 'p', namespace: 'default' },
    spec: { containers: [], ephemeralContainers: [debug, { ...debug, name: 'e' }] },
  });
  pods.push({ metadata: { uid: 'u', name: 'p', namespace: 'default' }, spec: { containers: [] } });
  expect(samples(registry)).toEqual({ kubelet_managed_ephemeral_containers: 2 });
});

it('the time until a status is written', () => {
  const registry = new Registry();
  createApiPodMetrics(registry).statusSyncDuration.observe(0.04);
  expect(registry.text()).toContain('kubelet_pod_status_sync_duration_seconds_bucket{le="0.05"} 1');
});
