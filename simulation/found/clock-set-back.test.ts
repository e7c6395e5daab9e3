/** Found by the simulation: a container from before the clock was set back stayed the newest, and was restarted without end. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('all comes to rest', async () => {
  const plan: Plan = {
    seed: 2,
    node: { events: true, cpuManager: false, eviction: false, startsAtOnce: 4 },
    steps: [
      {
        atMs: 1_000,
        act: 'create',
        name: 'pod-0',
        draft: { containers: 1, graceSeconds: 1, sim: { 'run-time': '100ms' } },
      },
      { atMs: 30_000, act: 'jump', byMs: -3_600_000 },
    ],
    calmAtMs: 60_000,
  };
  const { violation, events } = await live(plan);
  expect(violation).toBeUndefined();
  expect(events).toBeLessThan(20_000);
});
