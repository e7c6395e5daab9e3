/** What a node keeps of pods that came and went does not grow with their number. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCommand } from '../env/command.js';

/** A busy machine takes several times as long as a quiet one. */
const patienceMs = 900_000;
const testTimeoutMs = patienceMs + 10_000;
/** For each pod that came and went; 5 to 50 bytes are usual. An object with a text and a place in a map takes more. */
const mostGrowthBytesPerPod = 150;

/**
 * Optimized code brings data along that V8 does not count as code, about 500 bytes for each of the first pods; and the
 * bytecode of functions that rest is dropped. Without both, the live heap is the node's own.
 */
const steadyHeap = ['--expose-gc', '--no-opt', '--no-maglev', '--no-flush-bytecode'];

/** By its path: programs that tests start are in no directory of the project. */
const tsx = createRequire(import.meta.url).resolve('tsx');

interface Churn {
  readonly firstPods: number;
  readonly allPods: number;
  /** What the program keeps of each pod on purpose. */
  readonly leakBytes?: number;
}

async function growthBytesPerPod({ firstPods, allPods, leakBytes = 0 }: Churn): Promise<number> {
  const program = join(import.meta.dirname, 'live-heap.fixture.ts');
  const { stdout } = await runCommand(
    process.execPath,
    [...steadyHeap, '--import', tsx, program, `--leak-bytes=${leakBytes}`, `${firstPods}`, `${allPods}`],
    { timeoutMs: patienceMs },
  );
  const [first = Number.NaN, last = Number.NaN] = JSON.parse(stdout) as readonly number[];
  return (last - first) / (allPods - firstPods);
}

it(
  'the live heap after 5,000 pods came and went is that after 1,000',
  async () => {
    expect(await growthBytesPerPod({ firstPods: 1_000, allPods: 5_000 })).toBeLessThan(mostGrowthBytesPerPod);
  },
  testTimeoutMs,
);

it(
  'a node that kept 1 kB of each pod would be seen',
  async () => {
    const churn = { firstPods: 200, allPods: 400, leakBytes: 1_024 };
    expect(await growthBytesPerPod(churn)).toBeGreaterThan(5 * mostGrowthBytesPerPod);
  },
  testTimeoutMs,
);
