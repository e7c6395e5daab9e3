/** What a recording costs: a kubelet on a simulated runtime with 100 pods, with and without `--record`. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { CleanupStack, createTempDir } from '../test/env/index.js';
import { atMost, type Bench, type BenchContext, type Measure, median, roundsOf } from './measure.js';
import type { RecordFigures } from './replay/process.js';

const root = path.join(import.meta.dirname, '..');
const podCount = 100;
const restMinutes = 20;
const rounds = 3;
const run = promisify(execFile);

export const record: Bench = {
  name: 'record',
  summary: `CPU and bytes of a recording: ${podCount} pods started, at rest, and ended`,
  async run(context) {
    const cleanups = new CleanupStack();
    try {
      const { path: dir } = await createTempDir('bench', { cleanups });
      return await compare(await bundled(dir), context);
    } finally {
      await cleanups.run();
    }
  },
};

async function compare(program: string, { note, options }: BenchContext): Promise<Measure[]> {
  const plain: RecordFigures[] = [];
  const recorded: RecordFigures[] = [];
  for (let round = 0; round < roundsOf(options, rounds); round++) {
    plain.push(await lived(program, 'plain'));
    recorded.push(await lived(program, 'recorded'));
    note(`round ${round + 1} done`);
  }
  const of = (figures: readonly RecordFigures[], name: keyof RecordFigures): number =>
    median(figures.map((each) => each[name]));
  const more = (name: keyof RecordFigures): number => of(recorded, name) - of(plain, name);
  const lifeBytes = of(recorded, 'startsBytes') + of(recorded, 'endsBytes');
  return [
    // Of one core, as the agent's own share depends on its runtime, which is nothing here.
    {
      name: 'CPU of recording at rest, of a core',
      unit: '%',
      value: more('hourCpuMs') / 36_000,
      target: atMost(3),
    },
    { name: 'CPU of recording, a pod started', unit: 'ms', value: more('startsCpuMs') / podCount },
    { name: 'CPU of recording, a pod ended', unit: 'ms', value: more('endsCpuMs') / podCount },
    ratio('CPU at rest, recorded / not', of(recorded, 'hourCpuMs'), of(plain, 'hourCpuMs')),
    ratio('CPU of starts, recorded / not', of(recorded, 'startsCpuMs'), of(plain, 'startsCpuMs')),
    { name: 'record of a pod, start to end', unit: 'kB', value: lifeBytes / podCount / 1000 },
    {
      name: `record of an hour at rest with ${podCount} pods`,
      unit: 'kB',
      value: of(recorded, 'hourBytes') / 1000,
    },
  ];
}

function ratio(name: string, ours: number, theirs: number): Measure {
  return { name, unit: 'ratio', value: ours / theirs, compared: { unit: 'ms', ours, theirs } };
}

async function lived(program: string, kind: 'plain' | 'recorded'): Promise<RecordFigures> {
  const { stdout } = await run(process.execPath, [program, kind, String(podCount), String(restMinutes)]);
  // The program prints nothing else.
  return JSON.parse(stdout) as RecordFigures;
}

/** As nodelet is shipped: the loader of tests keeps the name of every function as a property, which costs CPU. */
async function bundled(dir: string): Promise<string> {
  const outfile = path.join(dir, 'record.mjs');
  await build({
    absWorkingDir: root,
    entryPoints: ['bench/replay/process.ts'],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner: {
      js: "import{createRequire as nodeletCreateRequire}from'node:module';const require=nodeletCreateRequire(import.meta.url);",
    },
    logLevel: 'warning',
  });
  return outfile;
}
