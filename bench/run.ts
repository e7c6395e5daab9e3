/** `tsx bench/run.ts [flags] [names…]`: runs benches and shows what they measured beside the targets. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { allocation } from './allocation.js';
import { apiEncoding } from './api-encoding.js';
import { bareNode } from './bare-node.js';
import { burst } from './burst/burst.js';
import { cluster } from './cluster/cluster.js';
import { csi } from './cluster/csi.js';
import { codec } from './codec/codec.js';
import { devices } from './devices.js';
import { ends } from './ends.js';
import { exit } from './exit.js';
import { files } from './files.js';
import { grpc } from './grpc.js';
import { hollow } from './hollow.js';
import { hollowCluster } from './hollow-cluster.js';
import { idle } from './idle.js';
import { inMemory } from './in-memory.js';
import { type Bench, type BenchOptions, type Measure, met } from './measure.js';
import { page } from './page.js';
import { probes } from './probes.js';
import { record } from './record.js';
import { relist } from './relist.js';
import { resize } from './resize.js';
import { services } from './services.js';
import { start } from './start.js';
import { stats } from './stats.js';
import { formatTable } from './table.js';
import { websocket } from './websocket.js';

const benches: readonly Bench[] = [
  start,
  exit,
  ends,
  relist,
  idle,
  probes,
  stats,
  grpc,
  codec,
  apiEncoding,
  websocket,
  files,
  allocation,
  devices,
  services,
  bareNode,
  page,
  cluster,
  burst,
  resize,
  csi,
  hollow,
  hollowCluster,
  record,
];

type Outcome =
  | { readonly bench: string; readonly tookSeconds: number; readonly measures: readonly Measure[] }
  | { readonly bench: string; readonly tookSeconds: number; readonly error: string };

function usage(): string {
  const names = benches.map(({ name, summary }) => `  ${name.padEnd(14)} ${summary}`).join('\n');
  return `Usage: tsx bench/run.ts [flags] [names…]\n\nBenches, all by default:\n${names}
\n  --json FILE  also write the results to FILE; a bare name goes below bench/results
  --quick      one short round of each: shows that the benches run, says nothing about speed
  --strict     exit with 1 when a target is missed
\n  Of the benches cluster, burst, resize and csi, and --pods and --rounds of bare-node and ends:
  --kubelet PATH  compare with this program of the reference kubelet, with 1, 50 and 100 pods
  --pods N,N…     other loads, in pods at once
  --rounds N      how often each load is measured
  --write         write the results of burst to docs/performance.md, with a plot
\n  Of the benches hollow and hollow-cluster:
  --nodes N       so many nodes; --pods N of hollow-cluster, so many pods\n`;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: {
      json: { type: 'string' },
      strict: { type: 'boolean' },
      quick: { type: 'boolean' },
      help: { type: 'boolean' },
      kubelet: { type: 'string' },
      pods: { type: 'string' },
      rounds: { type: 'string' },
      nodes: { type: 'string' },
      write: { type: 'boolean' },
    },
    allowPositionals: true,
  });
  const unknown = positionals.filter((name) => !benches.some((bench) => bench.name === name));
  if (values.help === true || unknown.length > 0) {
    if (unknown.length > 0) process.stderr.write(`no such bench: ${unknown.join(', ')}\n`);
    process.stdout.write(usage());
    return unknown.length > 0 ? 1 : 0;
  }
  const options: BenchOptions = {
    quick: values.quick === true,
    write: values.write === true,
    ...(values.kubelet === undefined ? {} : { kubelet: resolve(values.kubelet) }),
    ...(values.pods === undefined
      ? {}
      : { pods: values.pods.split(',').map((text) => wholeNumber('--pods', text)) }),
    ...(values.rounds === undefined ? {} : { rounds: wholeNumber('--rounds', values.rounds) }),
    ...(values.nodes === undefined ? {} : { nodes: wholeNumber('--nodes', values.nodes) }),
  };
  const wanted = benches.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const loadBefore = loadavg()[0] ?? 0;
  const outcomes: Outcome[] = [];
  await inMemory(async () => {
    for (const bench of wanted) outcomes.push(await runBench(bench, options));
  });

  const measures = outcomes.flatMap((outcome) => ('measures' in outcome ? outcome.measures : []));
  const machine = {
    cores: availableParallelism(),
    node: process.version,
    loadBefore,
    loadAfter: loadavg()[0] ?? 0,
  };
  process.stdout.write(
    `\n${machine.cores} cores, Node ${machine.node}; load of the machine ${loadBefore.toFixed(1)} before, ` +
      `${machine.loadAfter.toFixed(1)} at the end (a load before that is not near 0 blurs the figures)\n`,
  );
  if (values.json !== undefined) writeResults(values.json, { machine, outcomes });
  const failed = outcomes.some((outcome) => 'error' in outcome);
  const missed = measures.some((measure) => met(measure) === false);
  return failed || (values.strict === true && missed) ? 1 : 0;
}

async function runBench({ name, summary, run }: Bench, options: BenchOptions): Promise<Outcome> {
  process.stdout.write(`\n${name}: ${summary}\n`);
  const startMs = performance.now();
  const tookSeconds = (): number => Math.round((performance.now() - startMs) / 100) / 10;
  try {
    const measures = await run({ note: (text) => process.stderr.write(`  ${text}\n`), options });
    process.stdout.write(`${formatTable(measures)}  (${tookSeconds()} s)\n`);
    return { bench: name, tookSeconds: tookSeconds(), measures };
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`  ${name} could not be run: ${text}\n`);
    return { bench: name, tookSeconds: tookSeconds(), error: text };
  }
}

function wholeNumber(flag: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`${flag} takes whole numbers from 1, not ${text}`);
  return value;
}

function writeResults(file: string, results: unknown): void {
  const path = file.includes('/') ? resolve(file) : resolve(import.meta.dirname, 'results', file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(results, undefined, 2)}\n`);
  process.stdout.write(`results: ${path}\n`);
}

process.exitCode = await main();
