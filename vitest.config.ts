import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          // Times for people are shown as the clock on the wall has them.
          env: { TZ: 'UTC' },
          include: [
            'src/**/*.test.ts',
            'scripts/**/*.test.ts',
            'test/sim/**/*.test.ts',
            'test/contract/**/*.{sim,process,linux}.test.ts',
          ],
        },
      },
      {
        test: {
          name: 'containerd',
          include: [
            'test/env/**/*.test.ts',
            'test/containerd/**/*.test.ts',
            'test/contract/**/*.containerd.test.ts',
            'test/run/**/*.test.ts',
            'test/local/**/*.test.ts',
          ],
          testTimeout: 120_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'cluster',
          include: ['test/cluster/**/*.test.ts', 'test/contract/**/*.cluster.test.ts'],
          testTimeout: 180_000,
          // The first hook may have to build the control plane.
          hookTimeout: 3_000_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
