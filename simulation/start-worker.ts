/** Starts the threads that live the lives, from one bundle of all they need. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Bundled CommonJS packages call `require` for what comes with Node, and ESM has none. */
const requireForCommonJs =
  "import{createRequire as nodeletCreateRequire}from'node:module';const require=nodeletCreateRequire(import.meta.url);";

/** What a worker is started with. */
export interface WorkerSettings {
  /** The directory of nodelet's own code. */
  readonly guarded: string;
}

/** `stop` ends them all. */
export interface StartedWorkers {
  readonly workers: readonly Worker[];
  stop(): Promise<void>;
}

export async function startWorkers(count: number): Promise<StartedWorkers> {
  // A loader of TypeScript has each function named again whenever one is made, which takes time in inner loops.
  const directory = mkdtempSync(path.join(tmpdir(), 'nodelet-simulation-'));
  const bundle = path.join(directory, 'worker.mjs');
  const workers: Worker[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(workers.map((worker) => worker.terminate()));
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await build({
      absWorkingDir: root,
      entryPoints: ['simulation/worker.ts'],
      outfile: bundle,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      // The guard, and who reads a violation, look for files in stack traces.
      sourcemap: 'inline',
      sourcesContent: false,
      banner: { js: requireForCommonJs },
      logLevel: 'warning',
    });
    const workerData: WorkerSettings = { guarded: path.join(root, 'src') };
    for (let index = 0; index < count; index++) {
      const worker = new Worker(bundle, { workerData, execArgv: ['--enable-source-maps'] });
      workers.push(worker);
      await once(worker, 'message');
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { workers, stop };
}
