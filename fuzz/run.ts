/** `npm run fuzz`: throws mutated inputs at every parser and fails with the input that broke one. */
import { keepInput } from './corpus.js';
import { type FuzzOptions, parseOptions } from './options.js';
import { Session } from './session.js';
import { targetOf, targets } from './targets.js';
import type { Failure, Report } from './worker.js';

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2), Date.now());
  if (options.list) {
    for (const { name } of targets) console.log(name);
    return 0;
  }
  const chosen = options.targets.length === 0 ? targets : options.targets.map(targetOf);
  console.log(`fuzz: seed ${options.seed}, ${chosen.length} targets, ${options.minutes} minutes`);
  const session = new Session();
  await session.start();
  const broken: string[] = [];
  const started = performance.now();
  let total = 0;
  try {
    for (const [index, { name }] of chosen.entries()) {
      // What a target did not need, because it failed or ran out of inputs, the others get.
      const leftMs = started + options.minutes * 60_000 - performance.now();
      const forMs = Math.max(0, leftMs) / (chosen.length - index);
      const before = performance.now();
      const report = await session.run({
        target: name,
        seed: options.seed,
        from: options.from,
        inputs: options.inputs,
        forMs,
        ...(options.replay === undefined ? {} : { replay: Buffer.from(options.replay, 'base64') }),
      });
      total += report.inputs;
      console.log(line(name, report, performance.now() - before));
      if (report.failure === undefined) continue;
      broken.push(name);
      tell(name, report.failure, options);
    }
  } finally {
    await session.close();
  }
  const seconds = (performance.now() - started) / 1000;
  console.log(`fuzz: ${total} inputs in ${seconds.toFixed(0)} s, ${Math.round(total / seconds)} a second`);
  if (broken.length === 0) return 0;
  console.log(`fuzz: broken: ${broken.join(', ')}`);
  return 1;
}

function line(name: string, { inputs, failure }: Report, ms: number): string {
  const rate = Math.round(inputs / (ms / 1000));
  return `${failure === undefined ? 'ok    ' : 'BROKEN'} ${name.padEnd(22)} ${String(inputs).padStart(10)} inputs ${String(rate).padStart(8)} a second`;
}

const longestShown = 4096;

function tell(name: string, { why, input, number }: Failure, options: FuzzOptions): void {
  const bytes = Buffer.from(input);
  const text = bytes.toString('base64');
  console.log(`\n${why}\n`);
  console.log(
    `target ${name}, seed ${options.seed}${number === undefined ? '' : `, input ${number}`}, ${bytes.length} bytes`,
  );
  if (options.replay === undefined) console.log(`kept as ${keepInput(name, bytes)}`);
  console.log(
    text.length <= longestShown
      ? `replay: npm run fuzz -- --target ${name} --replay ${text}\n`
      : `replay: npm run fuzz -- --target ${name} --seed ${options.seed} --from ${number} --inputs 1\n`,
  );
}

main().then(
  (code) => {
    // A target that was given up may have left something open.
    process.exit(code);
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(2);
  },
);
