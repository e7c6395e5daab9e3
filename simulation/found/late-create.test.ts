/** Found by the simulation: a runtime was slow to create a container; it was started long after its pod was deleted. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('what is stopped stays stopped', async () => {
  const plan: Plan = {
    seed: 2545620846,
    node: { events: true, cpuManager: false, eviction: false, startsAtOnce: 5 },
    steps: [
      { atMs: 3_836, act: 'die', at: { skip: 4, when: 'before' }, downMs: 5_000 },
      {
        atMs: 12_140,
        act: 'create',
        name: 'pod-2',
        draft: { containers: 2, graceSeconds: 2, sim: { 'start-error': 'no such file' } },
      },
      { atMs: 23_384, act: 'die', at: { skip: 0, when: 'before' }, downMs: 15_000 },
      {
        atMs: 26_570,
        act: 'create',
        name: 'pod-3',
        draft: { containers: 1, graceSeconds: 5, memory: '64Mi' },
      },
      {
        atMs: 34_004,
        act: 'fault',
        fault: { port: 'cri', call: 'createContainer', skip: 2, times: 1, effect: { do: 'late', ms: 6_505 } },
      },
      { atMs: 44_040, act: 'delete', name: 'pod-2', graceSeconds: 10 },
    ],
    calmAtMs: 192_216,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
