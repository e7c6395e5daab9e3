/** Found by the simulation: a pod whose sandbox ended while its only container started stayed Pending for ever, with policy Never. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('a pod that is not restarted ends', async () => {
  const plan: Plan = {
    seed: 3248496492,
    node: { events: true, cpuManager: false, eviction: false, startsAtOnce: 1 },
    steps: [
      {
        atMs: 22_102,
        act: 'create',
        name: 'pod-3',
        draft: {
          containers: 1,
          graceSeconds: 8,
          init: 'plain',
          restartPolicy: 'Never',
          sim: { 'start-delay': '817ms', 'run-time': '9258ms' },
        },
      },
      { atMs: 24_235, act: 'kill-sandbox', pick: 689 },
    ],
    calmAtMs: 62_301,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
