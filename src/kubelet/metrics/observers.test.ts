import { expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import { Registry } from '../../metrics/index.js';
import { createMetrics } from './metrics.js';
import { countEphemeralContainers, terminationCounter } from './observers.js';

function underTest() {
  const registry = new Registry();
  const lines = (name: string): string[] =>
    registry
      .text()
      .split('\n')
      .filter((line) => line.startsWith(name));
  return { registry, metrics: createMetrics(registry, 'n1'), lines };
}

it('a termination is counted by kind, exit code and reason', () => {
  const { metrics, lines } = underTest();
  const count = terminationCounter(metrics);
  count({ kind: 'initContainer', exitCode: 137, reason: 'OOMKilled', container: 'c' });
  count({ kind: 'initContainer', exitCode: 137, reason: 'OOMKilled', container: 'c' });
  expect(lines('kubelet_terminated_containers_total{')).toHaveLength(1);
  expect(lines('kubelet_terminated_containers_total{')[0]).toMatch(/init_container.*137.*OOMKilled.* 2$/);
});

it('ephemeral containers are counted as they are when the metrics are read', () => {
  const { registry, metrics, lines } = underTest();
  const pods: Pod[] = [];
  countEphemeralContainers(registry, metrics, () => pods);
  const debug = { name: 'd', image: 'i' };
  pods.push({
    metadata: { uid: 'u', name: 'p', namespace: 'default' },
    spec: { containers: [], ephemeralContainers: [debug, { ...debug, name: 'e' }] },
  });
  pods.push({ metadata: { uid: 'u', name: 'p', namespace: 'default' }, spec: { containers: [] } });
  expect(lines('kubelet_managed_ephemeral_containers')).toEqual(['kubelet_managed_ephemeral_containers 2']);
});
