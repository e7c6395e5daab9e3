import { defineConfig } from 'vitest/config';

/** Tests of real servers wait more than they work, and each file has servers of its own. */
const waiting = { maxWorkers: 3 };

/** The tests on a containerd, whichever release it is. */
const onContainerd = {
  include: [
    'test/env/**/*.test.ts',
    'test/containerd/**/*.test.ts',
    'test/contract/**/*.containerd.test.ts',
    'test/run/**/*.test.ts',
    'test/local/**/*.test.ts',
    'test/page/**/*.test.ts',
  ],
  testTimeout: 120_000,
  hookTimeout: 300_000,
  ...waiting,
};

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          globalSetup: 'test/env/install-unit.ts',
          // Times for people are shown as the clock on the wall has them.
          env: { TZ: 'UTC' },
          maxWorkers: 2,
          // Files share a worker's modules: loading them anew for each file took half of the time. A test leaves nothing behind.
          isolate: false,
          // For a hang, not for slowness: a busy machine takes several times as long.
          testTimeout: 30_000,
          expect: { poll: { timeout: 15_000 } },
          sequence: { groupOrder: 0 },
          include: [
            'src/**/*.test.ts',
            'scripts/**/*.test.ts',
            'ui/**/*.test.ts',
            'bench/**/*.test.ts',
            'fuzz/**/*.test.ts',
            'simulation/**/*.test.ts',
            'soak/**/*.test.ts',
            'test/sim/**/*.test.ts',
            'test/contract/**/*.{sim,process,linux}.test.ts',
          ],
        },
      },
      {
        test: {
          name: 'containerd',
          globalSetup: 'test/env/install-containerd.ts',
          ...onContainerd,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'containerd2',
          globalSetup: 'test/env/install-newer-containerd.ts',
          setupFiles: 'test/env/newer-containerd.setup.ts',
          env: { NODELET_TEST_CONTAINERD: 'newer' },
          ...onContainerd,
          include: [...onContainerd.include, 'test/newer-runtime/**/*.test.ts'],
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          name: 'cluster',
          globalSetup: 'test/env/install-cluster.ts',
          include: ['test/cluster/**/*.test.ts', 'test/contract/**/*.cluster.test.ts'],
          testTimeout: 180_000,
          // The first hook may have to build the control plane.
          hookTimeout: 3_000_000,
          ...waiting,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'vm',
          include: ['test/vm/**/*.test.ts'],
          // The first hook may have to make the machine's disk, and an emulated processor is slow.
          hookTimeout: 3_000_000,
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
