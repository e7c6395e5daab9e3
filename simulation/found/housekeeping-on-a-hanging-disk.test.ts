/** Found by the simulation: the directories of a gone pod could not be read, and the sync loop waited for them: a deletion, too. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('what is deleted does not start', async () => {
  const plan: Plan = {
    seed: 2500124149,
    node: { events: true, cpuManager: false, eviction: false, startsAtOnce: 6 },
    steps: [
      { atMs: 62_788, act: 'create', name: 'pod-4', draft: { containers: 1, graceSeconds: 5 } },
      {
        atMs: 86_634,
        act: 'fault',
        fault: { port: 'host', call: 'syncFile', skip: 0, times: 1, effect: { do: 'delay', ms: 7_770 } },
      },
      { atMs: 98_885, act: 'manifest', name: 'static-0', image: 'web:3', graceSeconds: 3 },
      { atMs: 100_852, act: 'create', name: 'pod-8', draft: { containers: 1, graceSeconds: 4 } },
      {
        atMs: 104_541,
        act: 'fault',
        fault: { port: 'host', skip: 3, times: 4, effect: { do: 'hang' } },
      },
      { atMs: 104_625, act: 'delete', name: 'pod-4' },
      { atMs: 143_790, act: 'delete', name: 'pod-8' },
    ],
    calmAtMs: 182_571,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
