/** `npm run soak`: hours of churn and faults on a real containerd, and a verdict on what grows. */
import { judgeFigures } from './judge/figures.js';
import { parseOptions } from './options.js';
import { scheduleOf } from './plan/plan.js';
import { writeReport } from './report/report.js';
import { soak } from './soak.js';

const interrupted = 130;

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2), Date.now());
  const schedule = scheduleOf(options);
  const say = (line: string): void => console.log(`soak: ${line}`);
  say(
    `seed ${options.seed}, ${Math.round(options.durationMs / 60_000)} minutes, about ${schedule.cycles} cycles of ${Math.round(schedule.churnMs / 1000)} s${options.cluster ? ', on a control plane' : ''}`,
  );
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    // A second one ends the process at once; the next start removes what it leaves.
    process.once(name, () => {
      say(`${name}: cleaning up`);
      stop.abort();
    });
  }
  const result = await soak(options, stop.signal, say);
  const judged = judgeFigures(result.points, schedule);
  const text = await writeReport({ options, schedule, result, judged });
  console.log(text);
  if (result.wasBrokenOff) return interrupted;
  const grows = options.quick ? [] : judged.filter(({ drift }) => drift.verdict === 'grows');
  return grows.length > 0 || result.journal.findings.length > 0 ? 1 : 0;
}

main().then(
  (code) => {
    // All that was started is gone. Sockets of a line to the API server that was cut may still be open here, and hold nothing.
    process.exit(code);
  },
  (error: unknown) => {
    console.error(error instanceof Error ? (error.stack ?? error.message) : error);
    process.exit(2);
  },
);
