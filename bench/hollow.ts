/** What a whole kubelet costs as an object of a program that has many: memory and CPU of a node and of a pod on it. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { CleanupStack, createTempDir } from '../test/env/index.js';
import type { CpuFigures, IdleCounts, MemoryFigures } from './hollow/process.js';
import { atMost, type Bench, type BenchContext, type Measure, observedMs } from './measure.js';

const root = path.join(import.meta.dirname, '..');
const podsEach = 30;
const countedNodes = 10;
const cpuNodes = 200;
const idleMs = 60_000;
const run = promisify(execFile);

export const hollow: Bench = {
  name: 'hollow',
  summary: `kubelets as objects: an idle node, and ${podsEach} pods on each`,
  async run(context) {
    const cleanups = new CleanupStack();
    try {
      const { path: dir } = await createTempDir('bench', { cleanups });
      return await measure(await bundled(dir), context);
    } finally {
      await cleanups.run();
    }
  },
};

/** As nodelet is shipped: the loader of tests keeps the name of every function as a property, which costs memory and CPU. */
async function bundled(dir: string): Promise<string> {
  const outfile = path.join(dir, 'hollow.mjs');
  await build({
    absWorkingDir: root,
    entryPoints: ['bench/hollow/process.ts'],
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

async function measure(program: string, { note, options }: BenchContext): Promise<Measure[]> {
  const nodes = options.nodes ?? (options.quick === true ? 50 : 500);
  // The program prints figures of the kind that its first word asks for.
  const ask = async (...words: readonly (string | number)[]): Promise<unknown> => {
    const flags = ['--expose-gc', '--max-old-space-size=20000'];
    const { stdout } = await run(process.execPath, [...flags, program, ...words.map(String)]);
    return JSON.parse(stdout);
  };
  const memory = (await ask('memory', nodes, podsEach)) as MemoryFigures;
  note(`the memory of ${nodes} nodes is measured; counts and CPU begin`);
  const empty = (await ask('counts', countedNodes, 0)) as IdleCounts;
  const full = (await ask('counts', countedNodes, podsEach)) as IdleCounts;
  const observed = observedMs(options, idleMs);
  const ready = (await ask('cpu', cpuNodes, 0, observed)) as CpuFigures;
  const notReady = (await ask('cpu-not-ready', cpuNodes, 0, observed)) as CpuFigures;
  return [
    ...memoryMeasures(nodes, memory),
    ...countMeasures('an idle node', empty),
    ...countMeasures(`a node with ${podsEach} pods`, full),
    {
      name: 'CPU of an idle node, per second',
      unit: 'ms',
      value: ready.cpuMsPerSecond,
      target: atMost(0.1),
    },
    { name: 'CPU of a node that is not Ready, per second', unit: 'ms', value: notReady.cpuMsPerSecond },
  ];
}

function memoryMeasures(nodes: number, { before, empty, full, object }: MemoryFigures): Measure[] {
  const pods = nodes * podsEach;
  const podBytes = (full.heapBytes - empty.heapBytes) / pods;
  const rssOfAllGigabytes = ((full.rssBytes - before.rssBytes) / nodes) * 5_000;
  return [
    {
      name: 'heap of an idle node',
      unit: 'MB',
      value: (empty.heapBytes - before.heapBytes) / nodes / 1e6,
      target: atMost(0.3),
    },
    { name: 'RSS of an idle node', unit: 'MB', value: (empty.rssBytes - before.rssBytes) / nodes / 1e6 },
    {
      name: 'heap of a pod, with all that the API and the runtime keep of it',
      unit: 'kB',
      value: podBytes / 1e3,
    },
    { name: 'of that its API object', unit: 'kB', value: object.podBytes / 1e3 },
    { name: 'of that its events in the API', unit: 'kB', value: object.eventBytes / 1e3 },
    {
      name: 'heap of a pod beyond its objects in the API',
      unit: 'kB',
      value: (podBytes - object.podBytes - object.eventBytes) / 1e3,
      target: atMost(25),
    },
    { name: 'RSS of a pod', unit: 'kB', value: (full.rssBytes - empty.rssBytes) / pods / 1e3 },
    {
      name: `RSS of 5,000 nodes with ${podsEach} pods each, the API included, from ${nodes} nodes`,
      unit: 'MB',
      value: rssOfAllGigabytes / 1e6,
      target: atMost(12 * 1024 * 1.048576),
    },
  ];
}

function countMeasures(whose: string, counts: IdleCounts): Measure[] {
  const each = (name: string, value: number): Measure => ({
    name: `${name} of ${whose}, per minute`,
    unit: 'count',
    value,
  });
  return [
    each('timers fired', counts.timersFired),
    each('timers set', counts.timersSet),
    each('calls of the runtime', counts.runtimeCalls),
    each('calls of the API', counts.apiCalls),
  ];
}
