/** Found by the simulation: the root directory was bound on itself over mounted volumes, and a deleted pod never went. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('what is wanted runs, and what is gone is cleaned up', async () => {
  const plan: Plan = {
    seed: 3127594297,
    node: { events: true, cpuManager: false, eviction: false, startsAtOnce: 4 },
    steps: [
      {
        atMs: 500,
        act: 'fault',
        fault: { port: 'host', call: 'mount', skip: 0, times: 1, effect: { do: 'fail', code: 'EIO' } },
      },
      { atMs: 500, act: 'reboot', power: 'kept', downMs: 1_000 },
      {
        atMs: 10_000,
        act: 'create',
        name: 'pod-5',
        draft: { containers: 1, graceSeconds: 1, volumes: true },
      },
      { atMs: 30_000, act: 'stop', downMs: 1_000 },
      { atMs: 45_000, act: 'delete', name: 'pod-5' },
    ],
    calmAtMs: 60_000,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
