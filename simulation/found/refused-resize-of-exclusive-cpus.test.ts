/** A false find of the simulation: a pod whose resize is refused keeps its CPUs, and is no intruder on them. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('a container may run on its own CPUs', async () => {
  const plan: Plan = {
    seed: 3774929154,
    node: {
      events: true,
      cpuManager: true,
      eviction: false,
      startsAtOnce: 6,
      devices: false,
      csi: false,
    },
    steps: [
      {
        atMs: 127_928,
        act: 'create',
        name: 'pod-14',
        draft: { containers: 1, graceSeconds: 7, cpu: '1', memory: '64Mi', guaranteed: true },
      },
      { atMs: 151_053, act: 'resize', name: 'pod-14', cpu: '550m' },
    ],
    calmAtMs: 155_316,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
