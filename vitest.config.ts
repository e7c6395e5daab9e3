import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
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
    ],
  },
});
