/** The arguments of `npm run simulate`. */
import { type ProfileName, profiles } from './plan/profiles.js';

export interface SimulateOptions {
  /** Absent: fresh ones. */
  readonly seed: number | undefined;
  /** How many events each seed has at least. */
  readonly events: number;
  /** How long fresh seeds are drawn; absent: one seed. */
  readonly seconds: number | undefined;
  readonly workers: number;
  /** Absent: each life draws its own. */
  readonly profile: ProfileName | undefined;
  /** The one life of the seed that is lived. */
  readonly life: number | undefined;
  /** Shows what happens in that life. */
  readonly trace: boolean;
}

export const usage = `Usage: npm run simulate -- [flags]

  --seed S        what the lives are drawn from (default: fresh ones, which are printed)
  --events E      how many events each seed has at least (default 200000)
  --seconds N     draws fresh seeds for so long (default: one seed)
  --workers N     1 or 2 threads (default 1)
  --profile NAME  only lives of one kind: ${Object.keys(profiles).join(', ')}
  --life N        only this life of the seed
  --trace         prints all that happens in it; needs --seed and --life
`;

const flags = new Set(['--seed', '--events', '--seconds', '--workers', '--profile', '--life', '--trace']);

/** Throws an Error for the user. */
export function parseOptions(argv: readonly string[]): SimulateOptions {
  const given = new Map<string, string>();
  for (let at = 0; at < argv.length; at++) {
    const [name = '', written] = (argv[at] ?? '').split(/=(.*)/s, 2);
    if (!flags.has(name)) throw new Error(`unknown argument ${name}\n${usage}`);
    if (name === '--trace') {
      given.set(name, '');
      continue;
    }
    const value = written ?? argv[++at];
    if (value === undefined) throw new Error(`${name} needs a value\n${usage}`);
    given.set(name, value);
  }
  const number = (name: string, most: number): number | undefined => {
    const text = given.get(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (!/^\d+$/.test(text) || value > most)
      throw new Error(`${name} needs a whole number up to ${most}, not ${text}`);
    return value;
  };
  const seed = number('--seed', 2 ** 32 - 1);
  const life = number('--life', 1_000_000);
  const workers = number('--workers', 2) ?? 1;
  if (workers === 0) throw new Error('--workers needs 1 or 2');
  if ((life !== undefined || given.has('--trace')) && seed === undefined)
    throw new Error('--life and --trace need --seed');
  if (given.has('--trace') && life === undefined) throw new Error('--trace needs --life');
  return {
    seed,
    events: number('--events', 1e12) ?? 200_000,
    seconds: number('--seconds', 1e7),
    workers,
    profile: profileOf(given.get('--profile')),
    life,
    trace: given.has('--trace'),
  };
}

function profileOf(text: string | undefined): ProfileName | undefined {
  if (text === undefined) return undefined;
  const found = Object.keys(profiles).find((name) => name === text);
  if (found === undefined)
    throw new Error(`--profile needs one of ${Object.keys(profiles).join(', ')}, not ${text}`);
  // It is one of the keys.
  return found as ProfileName;
}
