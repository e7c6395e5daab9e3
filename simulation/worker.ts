/** The thread that lives the lives of seeds, apart from the real world. */
import { parentPort, workerData } from 'node:worker_threads';
import { asTest } from './as-test.js';
import { keepFromTheRealWorld } from './guard.js';
import { live } from './life.js';
import { minimise } from './minimise.js';
import type { Plan } from './plan/step.js';
import { runSeed, type SeedReport, type SeedTask } from './seed-run.js';
import type { WorkerSettings } from './start-worker.js';

/** What a thread tells. */
export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'done'; readonly report: SeedReport; readonly test: string | undefined };

const port = parentPort;
if (port === null) throw new Error('this file runs in a thread');
// Who starts it gives it these.
const { guarded } = workerData as WorkerSettings;
const tell = (message: FromWorker): void => port.postMessage(message);

/** How many plans are tried to shorten one, and for how long: the last one that still breaks the rule is told. */
const tries = 400;
const shorteningMs = 60_000;

async function testOf(report: SeedReport): Promise<string | undefined> {
  if (report.broken === undefined) return undefined;
  const { plan, violation, life } = report.broken;
  tell({ kind: 'line', text: `seed ${report.seed} life ${life}: ${violation.rule}: ${violation.message}` });
  const endMs = performance.now() + shorteningMs;
  const breaks = async (shorter: Plan): Promise<boolean> =>
    performance.now() < endMs && (await live(shorter)).violation?.rule === violation.rule;
  const shortest = await minimise(plan, { breaks, tries });
  return asTest(shortest, (await live(shortest)).violation ?? violation);
}

const breaches = new Set<string>();

async function main(): Promise<void> {
  // The first life loads what is loaded when it is needed.
  await runSeed({ seed: 0, events: 1, profile: 'storm', life: undefined, trace: false }, () => undefined);
  keepFromTheRealWorld(guarded, (what) => {
    if (breaches.size < 20 && !breaches.has(what)) tell({ kind: 'line', text: `the real world: ${what}` });
    breaches.add(what);
  });
  port?.on('message', (task: SeedTask) => {
    void (async () => {
      const report = await runSeed(task, (text) => tell({ kind: 'line', text }));
      if (breaches.size > 0) throw new Error('the simulation reached the real world');
      tell({ kind: 'done', report, test: await testOf(report) });
    })();
  });
  tell({ kind: 'ready' });
}

void main();
