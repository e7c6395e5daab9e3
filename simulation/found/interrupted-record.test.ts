/** Found by the simulation: what a killed kubelet had written beside a record stayed while nobody wrote the record again. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('nothing is left of a write that was cut off', async () => {
  const plan: Plan = {
    seed: 1351158061,
    node: {
      events: true,
      cpuManager: false,
      eviction: true,
      startsAtOnce: 1,
      devices: false,
      csi: true,
    },
    steps: [
      { atMs: 8_823, act: 'die', at: { skip: 9, when: 'before' }, downMs: 5_000 },
      { atMs: 15_667, act: 'pressure', of: 'disk', forMs: 32_040 },
      {
        atMs: 18_540,
        act: 'create',
        name: 'pod-3',
        draft: { containers: 1, graceSeconds: 5, memory: '64Mi' },
      },
    ],
    calmAtMs: 69_446,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
