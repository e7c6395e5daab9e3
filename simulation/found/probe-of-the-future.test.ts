/** Found by the simulation: a container that "starts in an hour", as the clock was set back, was not probed and not ready for that hour. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('a container is probed though the wall clock was set back', async () => {
  const plan: Plan = {
    seed: 2947088123,
    node: { events: true, cpuManager: false, eviction: false, startsAtOnce: 5 },
    steps: [
      {
        atMs: 43_381,
        act: 'create',
        name: 'pod-6',
        draft: { containers: 1, graceSeconds: 3, probes: true },
      },
      { atMs: 67_076, act: 'die', at: { skip: 6, when: 'after' }, downMs: 15_000 },
      { atMs: 84_500, act: 'jump', byMs: -3_600_000 },
    ],
    calmAtMs: 108_234,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
