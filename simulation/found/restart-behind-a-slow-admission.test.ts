/** Found by the simulation: the disk hung at the admission of one pod, and another, whose deletion waited behind it, was restarted. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('what is deleted does not start again', async () => {
  const plan: Plan = {
    seed: 2311956481,
    node: { events: false, cpuManager: false, eviction: false, startsAtOnce: 4 },
    steps: [
      {
        atMs: 12_045,
        act: 'create',
        name: 'pod-0',
        draft: { containers: 1, graceSeconds: 3, sim: { 'exit-code': '3', 'run-time': '1s' } },
      },
      {
        atMs: 14_524,
        act: 'create',
        name: 'pod-1',
        draft: { containers: 1, graceSeconds: 6, volumes: true },
      },
      {
        atMs: 24_691,
        act: 'fault',
        fault: { port: 'host', skip: 2, times: 1, effect: { do: 'hang' } },
      },
      { atMs: 29_709, act: 'resize', name: 'pod-0', cpu: '450m' },
      { atMs: 35_473, act: 'create', name: 'pod-2', draft: { containers: 1, graceSeconds: 5 } },
      { atMs: 37_949, act: 'delete', name: 'pod-0' },
    ],
    calmAtMs: 179_798,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
