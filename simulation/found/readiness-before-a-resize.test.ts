/** Found by the simulation: a probe told the generation of a resize that nobody had judged, and the next sync took it back. */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it('a status never goes back', async () => {
  const plan: Plan = {
    seed: 1290211405,
    node: { events: true, cpuManager: false, eviction: false, startsAtOnce: 4 },
    steps: [
      {
        atMs: 4_609,
        act: 'create',
        name: 'pod-1',
        draft: { containers: 1, graceSeconds: 8, probes: true, volumes: true },
      },
      {
        atMs: 10_521,
        act: 'fault',
        fault: { port: 'host', call: 'syncDirectory', skip: 3, times: 1, effect: { do: 'hang' } },
      },
      { atMs: 13_479, act: 'create', name: 'pod-3', draft: { containers: 1, graceSeconds: 5 } },
      { atMs: 16_326, act: 'delete', name: 'pod-3' },
      { atMs: 17_365, act: 'disk-full', forMs: 5_332 },
      { atMs: 20_507, act: 'die', at: { skip: 3, when: 'after' }, downMs: 15_000 },
      { atMs: 20_533, act: 'manifest', name: 'static-2', image: 'web:0', graceSeconds: 1 },
      {
        atMs: 20_533,
        act: 'create',
        name: 'pod-2',
        draft: { containers: 1, graceSeconds: 2, volumes: true, memory: '64Mi' },
      },
      { atMs: 32_702, act: 'exit', pick: 711, code: 1 },
      { atMs: 37_087, act: 'resize', name: 'pod-1', cpu: '1000m' },
      { atMs: 62_980, act: 'exit', pick: 805, code: 1 },
    ],
    calmAtMs: 113_907,
  };
  expect((await live(plan)).violation).toBeUndefined();
});
