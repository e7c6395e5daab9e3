/** The arguments of `npm run soak`. */
import { parseArgs } from 'node:util';

export interface SoakOptions {
  readonly durationMs: number;
  readonly seed: number;
  /** Pods come from a real control plane instead of a directory of manifests. */
  readonly cluster: boolean;
  /** One cycle, which shows that everything works and says nothing about drift. */
  readonly quick: boolean;
  /** Write the agent's heap to the report: when the judging begins, and at the end. */
  readonly snapshots: boolean;
  /** Where the report is written. */
  readonly reportDir: string;
}

export const usage = `Usage: npm run soak -- [flags]

  --hours H      how long the churn goes on (default 1); the clean-up comes on top
  --minutes M    the same in minutes; both are added
  --seed N       where the plan starts from (default: one of the clock's, which is printed)
  --cluster      pods come from a real control plane, whose connections are cut too
  --quick        one cycle, about two minutes: shows that a soak runs, no verdict on drift
  --snapshots    write the agent's heap when the judging begins and at the end, which makes its RSS larger
  --report DIR   where the report is written (default soak/results)
`;

const longestHours = 24 * 14;

/** Throws an Error for the user. */
export function parseOptions(argv: readonly string[], nowMs: number): SoakOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      hours: { type: 'string' },
      minutes: { type: 'string' },
      seed: { type: 'string' },
      cluster: { type: 'boolean' },
      quick: { type: 'boolean' },
      snapshots: { type: 'boolean' },
      report: { type: 'string' },
    },
  });
  const number = (name: 'hours' | 'minutes' | 'seed', most: number): number | undefined => {
    const text = values[name];
    if (text === undefined) return undefined;
    const value = Number(text);
    if (text.trim() === '' || !(value >= 0 && value <= most)) {
      throw new Error(`--${name} needs a number from 0 to ${most}, not ${JSON.stringify(text)}\n${usage}`);
    }
    return value;
  };
  const hours = number('hours', longestHours);
  const minutes = number('minutes', longestHours * 60);
  const quick = values.quick === true;
  if (quick && (hours !== undefined || minutes !== undefined)) {
    throw new Error(`--quick has a time of its own: leave out --hours and --minutes\n${usage}`);
  }
  const given = hours === undefined && minutes === undefined ? undefined : (hours ?? 0) * 60 + (minutes ?? 0);
  const seed = number('seed', 2 ** 31 - 1) ?? Math.floor(nowMs / 1000) % 2 ** 31;
  if (!Number.isInteger(seed)) throw new Error(`--seed needs a whole number, not ${seed}\n${usage}`);
  return {
    durationMs: (quick ? 1 : (given ?? 60)) * 60_000,
    seed,
    cluster: values.cluster === true,
    quick,
    snapshots: values.snapshots === true,
    reportDir: values.report ?? 'soak/results',
  };
}
