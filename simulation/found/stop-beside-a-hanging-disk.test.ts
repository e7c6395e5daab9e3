/** Found by the simulation: a kubelet that was stopped while it read its records from a disk that hung waited on, for 30 s. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('a kubelet that stops leaves nothing', async () => {
  const plan: Plan = {
    seed: 4119088060,
    node: { events: true, cpuManager: false, eviction: false, startsAtOnce: 2 },
    steps: [
      { atMs: 36_714, act: 'stop', downMs: 10_000 },
      {
        atMs: 43_388,
        act: 'fault',
        fault: { port: 'host', call: 'stat', skip: 2, times: 1, effect: { do: 'hang' } },
      },
      { atMs: 73_240, act: 'stop', downMs: 1_000 },
    ],
    calmAtMs: 186_432,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
