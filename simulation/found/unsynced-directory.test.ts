/** Found by the simulation: a power cut undid the directory of device records, and a pod ran without its device. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('nothing runs without what it was promised', async () => {
  const plan: Plan = {
    seed: 3469489861,
    node: { events: true, cpuManager: false, eviction: false, startsAtOnce: 3, devices: true },
    steps: [
      { atMs: 42_955, act: 'reboot', power: 'lost', downMs: 17_682 },
      { atMs: 50_229, act: 'create', name: 'pod-3', draft: { containers: 1, graceSeconds: 4, devices: 1 } },
    ],
    calmAtMs: 116_479,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
