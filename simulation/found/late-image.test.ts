/** Found by the simulation: its own rule took a node for one at rest whose kubelet had still to change an image. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('what is wanted runs on, and nothing else is left', async () => {
  const plan: Plan = {
    seed: 2576546444,
    node: { events: true, cpuManager: false, eviction: false, startsAtOnce: 3 },
    steps: [
      { atMs: 10_000, act: 'create', name: 'pod-13', draft: { containers: 1, graceSeconds: 6 } },
      { atMs: 20_000, act: 'die', at: { skip: 0, when: 'before' }, downMs: 15_000 },
      { atMs: 20_000, act: 'edit', name: 'pod-13', image: 'app:13' },
    ],
    calmAtMs: 21_000,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
