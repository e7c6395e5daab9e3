/** Found by the simulation: a pod waited for its record on a disk that hung, its deletion for the runtime, and it was started then. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('what is deleted does not start', async () => {
  const plan: Plan = {
    seed: 4066268326,
    node: {
      events: true,
      cpuManager: false,
      eviction: false,
      startsAtOnce: 5,
      devices: false,
      csi: false,
    },
    steps: [
      {
        atMs: 1_066,
        act: 'fault',
        fault: { port: 'cri', skip: 3, times: 1, effect: { do: 'lose' } },
      },
      {
        atMs: 3_677,
        act: 'fault',
        fault: { port: 'cri', call: 'status', skip: 2, times: 1, effect: { do: 'hang' } },
      },
      {
        atMs: 38_677,
        act: 'fault',
        fault: { port: 'host', call: 'writeFile', skip: 0, times: 1, effect: { do: 'hang' } },
      },
      { atMs: 38_677, act: 'create', name: 'pod-2', draft: { containers: 1, graceSeconds: 4 } },
      { atMs: 42_814, act: 'create', name: 'pod-3', draft: { containers: 1, graceSeconds: 4 } },
      { atMs: 99_957, act: 'delete', name: 'pod-3' },
    ],
    calmAtMs: 116_185,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
