import { expect, it } from 'vitest';
import { configSourceAnnotation, type Pod } from '../kube/index.js';
import { Registry } from '../metrics/index.js';
import { samples } from '../metrics/test-samples.js';
import { countPods, countWorkers, createKubeletMetrics } from './metrics.js';

const above = (registry: Registry, least: number): string[] =>
  Object.entries(samples(registry)).flatMap(([series, value]) =>
    value >= least ? `${series} ${value}` : [],
  );

it('static pods are counted apart', () => {
  const registry = new Registry();
  const pod = (source: string): Pod => ({
    metadata: {
      uid: 'u',
      name: 'p',
      namespace: 'default',
      annotations: { [configSourceAnnotation]: source },
    },
    spec: { containers: [] },
  });
  countPods(createKubeletMetrics(registry).desiredPods, [pod('api'), pod('file'), pod('api')]);
  expect(above(registry, 1)).toEqual([
    'kubelet_desired_pods{static=""} 2',
    'kubelet_desired_pods{static="true"} 1',
  ]);
});

it('workers are counted by state and kind, and a kind that is gone falls to zero', () => {
  const registry = new Registry();
  const { workingPods } = createKubeletMetrics(registry);
  const worker = { state: 'sync', orphan: false, hasConfig: true, isStatic: false } as const;
  countWorkers(workingPods, [
    worker,
    worker,
    { ...worker, isStatic: true },
    { ...worker, state: 'terminating', orphan: true },
    { ...worker, state: 'terminating', orphan: true, hasConfig: false },
  ]);
  expect(above(registry, 1)).toEqual([
    'kubelet_working_pods{lifecycle="sync",config="desired",static=""} 2',
    'kubelet_working_pods{lifecycle="sync",config="desired",static="true"} 1',
    'kubelet_working_pods{lifecycle="terminating",config="orphan",static=""} 1',
    'kubelet_working_pods{lifecycle="terminating",config="runtime_only",static="unknown"} 1',
  ]);
  countWorkers(workingPods, []);
  expect(above(registry, 1)).toEqual([]);
  expect(above(registry, 0).filter((line) => line.startsWith('kubelet_working_pods'))).toHaveLength(15);
});
