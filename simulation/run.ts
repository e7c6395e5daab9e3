/** `npm run simulate`: whole nodes under chance, repeatable; fails with the shortest plan that breaks a rule. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { parseOptions, type SimulateOptions } from './options.js';
import type { SeedReport, SeedTask } from './seed-run.js';
import { startWorkers } from './start-worker.js';
import type { FromWorker } from './worker.js';

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2));
  const { workers, stop } = await startWorkers(options.workers);
  const endMs = performance.now() + (options.seconds ?? 0) * 1000;
  const cpuBefore = process.cpuUsage();
  const sum = { seeds: 0, lives: 0, events: 0, virtualMs: 0, processes: 0 };
  let broken: Finished | undefined;
  const drive = async (worker: Worker): Promise<void> => {
    do {
      const finished = await runOn(worker, taskOf(options));
      const { report } = finished;
      sum.seeds++;
      sum.lives += report.lives;
      sum.events += report.events;
      sum.virtualMs += report.virtualMs;
      sum.processes += report.processes;
      console.log(line(report));
      if (report.broken !== undefined) broken ??= finished;
    } while (broken === undefined && options.seed === undefined && performance.now() < endMs);
  };
  await Promise.all(workers.map(drive)).finally(stop);
  const { user, system } = process.cpuUsage(cpuBefore);
  const cpuSeconds = (user + system) / 1e6;
  console.log(
    `simulate: ${sum.seeds} seeds, ${sum.lives} lives, ${sum.events} events, ${sum.processes} kubelets, ${Math.round(sum.virtualMs / 3_600_000)} h of virtual time in ${cpuSeconds.toFixed(0)} s of CPU time: ${Math.round(sum.events / cpuSeconds)} events a second a core`,
  );
  if (broken === undefined) return 0;
  tell(broken, options);
  return 1;
}

function taskOf({ seed, events, profile, life, trace }: SimulateOptions): SeedTask {
  return { seed: seed ?? randomInt(2 ** 32), events, profile, life, trace };
}

function line({ seed, lives, events, hash, broken }: SeedReport): string {
  return `${broken === undefined ? 'ok    ' : 'BROKEN'} seed ${String(seed).padStart(10)} ${String(lives).padStart(5)} lives ${String(events).padStart(9)} events  ${hash}`;
}

function tell({ report, test }: Finished, { profile }: SimulateOptions): void {
  if (report.broken === undefined) return;
  const { life, violation } = report.broken;
  const kind = profile === undefined ? '' : ` --profile ${profile}`;
  console.log(`\n${violation.rule}: ${violation.message}`);
  console.log(`at ${violation.atMs} ms, event ${violation.event} of life ${life}`);
  console.log(`see it: npm run simulate -- --seed ${report.seed}${kind} --life ${life} --trace`);
  console.log(`\nthe shortest plan that breaks it, for a file of simulation/found:\n\n${test}`);
}

interface Finished {
  readonly report: SeedReport;
  readonly test: string | undefined;
}

async function runOn(worker: Worker, task: SeedTask): Promise<Finished> {
  worker.postMessage(task);
  for (;;) {
    // Only the worker sends, and only this.
    const [message] = (await once(worker, 'message')) as [FromWorker];
    if (message.kind === 'line') console.log(message.text);
    if (message.kind === 'done') return message;
  }
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 2;
  },
);
