/** `npm run conformance`: runs Kubernetes' node conformance specs against a node of nodelet's and says which failed and why. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { lastLines } from '../src/runtimes/containerd/command.js';
import { CleanupStack, createTempDir } from '../test/env/index.js';
import { type ConformanceOptions, readArguments, usage } from './conformance/arguments.js';
import { startBareCluster } from './conformance/bare-cluster.js';
import { shareOut } from './conformance/batches.js';
import { startCluster } from './conformance/cluster.js';
import { listImages, listSpecs, runSpecs, type SpecGround } from './conformance/e2e.js';
import { missingImages } from './conformance/images.js';
import type { Spec, SpecResult } from './conformance/report.js';
import { formatResult, formatSummary } from './conformance/summary.js';

async function main(): Promise<number> {
  const request = readArguments(process.argv.slice(2), existsSync);
  switch (request.kind) {
    case 'help':
      process.stdout.write(usage);
      return 0;
    case 'wrong':
      process.stderr.write(`${request.problems.join('\n')}\n\n${usage}`);
      return 2;
    case 'run':
      return run(request.options);
  }
}

async function run(given: ConformanceOptions): Promise<number> {
  const options = {
    ...given,
    e2e: resolve(given.e2e),
    images: resolve(given.images),
    ...(given.kubelet === undefined ? {} : { kubelet: resolve(given.kubelet) }),
  };
  const cleanups = new CleanupStack();
  const ending = new AbortController();
  const end = (): void => ending.abort();
  process.on('SIGINT', end).on('SIGTERM', end);
  const startMs = performance.now();
  try {
    const dir = await logsDirectory(options, cleanups);
    const specs = await listSpecs(options, dir);
    if (specs.length === 0) throw new Error(`no spec matches --focus ${options.focus}`);
    say(`${specs.length} specs; starting ${options.bare ? 'nodelet up' : 'a control plane and its node'}`);
    const start = options.bare ? startBareCluster : startCluster;
    const cluster = await start(options, dir, cleanups);
    say(`the node is ready, with ${cluster.images.length} images from ${options.images}`);
    const { kubeconfig, kubectl, flags } = cluster;
    const ground = { program: options.e2e, kubeconfig, kubectl, flags, dir, signal: ending.signal };
    // Without the kubelet every spec would wait for its time to pass.
    const watch = setInterval(() => {
      if (!cluster.isAlive()) end();
    }, 1000);
    cleanups.defer('the watch over the kubelet', async () => clearInterval(watch));
    const results = await runAll(specs, options.procs, ground);
    const known = await listImages(options.e2e);
    const summary = {
      results,
      missingImages: missingImages(cluster.containerdLog(), known, cluster.images),
      tookSeconds: (performance.now() - startMs) / 1000,
    };
    if (options.report !== undefined) {
      writeFileSync(join(dir, 'results.json'), `${JSON.stringify(summary, undefined, 2)}\n`);
    }
    say(formatSummary(summary));
    const unheard = specs.length - results.length;
    if (unheard > 0) say(`interrupted: ${unheard} specs were not run to their end`);
    if (!cluster.isAlive()) say(`the kubelet has ended by itself:\n${lastLines(cluster.kubeletLog(), 20)}`);
    return unheard > 0 || results.some(({ outcome }) => outcome.kind === 'failed') ? 1 : 0;
  } finally {
    await cleanups.run();
  }
}

async function logsDirectory({ report }: ConformanceOptions, cleanups: CleanupStack): Promise<string> {
  if (report === undefined) return (await createTempDir('conformance', { cleanups })).path;
  mkdirSync(report, { recursive: true });
  return resolve(report);
}

/** Specs that share the cluster first, then those that must have it alone. */
async function runAll(specs: readonly Spec[], procs: number, ground: SpecGround): Promise<SpecResult[]> {
  const { parallel, serial } = shareOut(specs, procs);
  const results: SpecResult[] = [];
  const runBatch = async (name: string, batch: readonly string[]): Promise<void> => {
    if (ground.signal.aborted) return;
    const ended = await runSpecs(ground, name, batch);
    // Those that were cut off have not failed.
    if (ground.signal.aborted) return;
    for (const result of ended) {
      results.push(result);
      say(`${`${results.length}/${specs.length}`.padStart(8)} ${formatResult(result)}`);
    }
  };
  const waiting = parallel.map((batch, at) => ({ name: `specs-${at + 1}`, batch }));
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await runBatch(next.name, next.batch);
    }
  };
  await Promise.all(Array.from({ length: procs }, work));
  if (serial.length > 0) await runBatch('specs-serial', serial);
  return results;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`conformance: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
