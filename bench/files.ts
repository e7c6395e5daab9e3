/** Small files by synchronous calls against the same through Node's thread pool: CPU and time of one. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CleanupStack, createTempDir } from '../test/env/index.js';
import { atMost, type Bench, type Measure, median } from './measure.js';

const rounds = 7;
const filesPerSample = 500;
const text = 'x'.repeat(200);

type MakeFile = (dir: string) => void | Promise<void>;

/** What a pod's file takes: a directory, a file under another name, its real name, and a look at it. */
const bySync: MakeFile = (dir) => {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'new'), text);
  renameSync(join(dir, 'new'), join(dir, 'file'));
  readFileSync(join(dir, 'file'));
};
const byPool: MakeFile = async (dir) => {
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, 'new'), text);
  await rename(join(dir, 'new'), join(dir, 'file'));
  await readFile(join(dir, 'file'));
};

export const files: Bench = {
  name: 'files',
  summary: 'small files by synchronous calls against the thread pool',
  async run() {
    const cleanups = new CleanupStack();
    try {
      const { path: dir } = await createTempDir('bench', { cleanups });
      const sync: number[] = [];
      const pool: number[] = [];
      // The first round has the code compiled; it is not counted.
      for (let round = -1; round < rounds; round++) {
        const [ours, theirs] = [await cpuUs(dir, bySync), await cpuUs(dir, byPool)];
        if (round < 0) continue;
        sync.push(ours);
        pool.push(theirs);
      }
      return [ratio(sync, pool)];
    } finally {
      await cleanups.run();
    }
  },
};

async function cpuUs(dir: string, make: MakeFile): Promise<number> {
  const own = join(dir, 'files');
  const before = process.cpuUsage();
  for (let made = 0; made < filesPerSample; made++) await make(join(own, String(made)));
  const { user, system } = process.cpuUsage(before);
  rmSync(own, { recursive: true });
  return (user + system) / filesPerSample;
}

function ratio(sync: readonly number[], pool: readonly number[]): Measure {
  const compared = { unit: 'µs', ours: median(sync), theirs: median(pool) } as const;
  return {
    name: 'CPU of a small file: synchronous / thread pool',
    unit: 'ratio',
    value: compared.ours / compared.theirs,
    samples: sync.map((us, round) => us / (pool[round] ?? us)),
    target: atMost(0.5),
    compared,
  };
}
