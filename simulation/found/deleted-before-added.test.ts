/** Found by the simulation: a pod that was created and deleted while a call to the runtime hung was started after that. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('what is stopped stays stopped', async () => {
  const plan: Plan = {
    seed: 196825988,
    node: { events: true, cpuManager: true, eviction: false, startsAtOnce: 1 },
    steps: [
      {
        atMs: 9_029,
        act: 'fault',
        fault: { port: 'cri', skip: 0, times: 1, effect: { do: 'hang' } },
      },
      { atMs: 37_954, act: 'create', name: 'pod-2', draft: { containers: 1, graceSeconds: 7 } },
      { atMs: 43_168, act: 'create', name: 'pod-3', draft: { containers: 1, graceSeconds: 1 } },
      { atMs: 45_666, act: 'delete', name: 'pod-2', graceSeconds: 0 },
      { atMs: 47_238, act: 'create', name: 'pod-4', draft: { containers: 3, graceSeconds: 4 } },
      { atMs: 48_022, act: 'delete', name: 'pod-4' },
      {
        atMs: 48_022,
        act: 'create',
        name: 'pod-5',
        draft: { containers: 1, graceSeconds: 3, init: 'plain' },
      },
      { atMs: 48_751, act: 'create', name: 'pod-6', draft: { containers: 1, graceSeconds: 2 } },
      { atMs: 55_833, act: 'delete', name: 'pod-3', graceSeconds: 10 },
    ],
    calmAtMs: 62_074,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
