/** Found by the simulation: the record of CPUs could not be read once, was set aside, and a pod lost its own CPUs to another one. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('a pod keeps its CPUs', async () => {
  const plan: Plan = {
    seed: 1193701048,
    node: {
      events: false,
      cpuManager: true,
      eviction: false,
      startsAtOnce: 5,
      devices: false,
      csi: false,
    },
    steps: [
      {
        atMs: 49_580,
        act: 'create',
        name: 'pod-7',
        draft: { containers: 1, graceSeconds: 6, cpu: '1', memory: '64Mi', guaranteed: true },
      },
      { atMs: 64_516, act: 'create', name: 'pod-8', draft: { containers: 1, graceSeconds: 2 } },
      { atMs: 65_787, act: 'die', at: { skip: 19, when: 'before' }, downMs: 15_000 },
      {
        atMs: 67_945,
        act: 'fault',
        fault: { port: 'cri', call: 'status', skip: 0, times: 5, effect: { do: 'delay', ms: 7_507 } },
      },
      {
        atMs: 70_713,
        act: 'create',
        name: 'pod-9',
        draft: { containers: 1, graceSeconds: 6, volumes: true },
      },
      { atMs: 79_932, act: 'die', at: { skip: 2, when: 'after' }, downMs: 15_000 },
      { atMs: 82_936, act: 'api-away', forMs: 10_630 },
      {
        atMs: 82_986,
        act: 'create',
        name: 'pod-10',
        draft: { containers: 1, graceSeconds: 4, cpu: '1', memory: '64Mi' },
      },
      {
        atMs: 91_663,
        act: 'fault',
        fault: { port: 'host', skip: 1, times: 2, effect: { do: 'fail', code: 'EROFS' } },
      },
    ],
    calmAtMs: 158_860,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
