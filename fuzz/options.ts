/** The arguments of `npm run fuzz`. */

export interface FuzzOptions {
  readonly minutes: number;
  /** All of them when there is none. */
  readonly targets: readonly string[];
  readonly seed: number;
  /** The number of the first input. */
  readonly from: number;
  /** How many inputs each target gets at most. */
  readonly inputs: number;
  /** Base64 of one input to try. */
  readonly replay: string | undefined;
  readonly list: boolean;
}

export const usage = `Usage: npm run fuzz -- [flags]

  --minutes M      how long in all, shared by the targets (default 5)
  --target NAME    only this target; may be given more than once
  --seed N         where the inputs start from (default: one of the clock's, which is printed)
  --from N         the number of the first input (default 0)
  --inputs N       at most so many inputs a target
  --replay BASE64  try one input; needs --target
  --list           print the targets
`;

/** Throws an Error for the user. */
export function parseOptions(argv: readonly string[], nowMs: number): FuzzOptions {
  const given = new Map<string, string[]>();
  for (let at = 0; at < argv.length; at++) {
    const [name = '', written] = (argv[at] ?? '').split(/=(.*)/s, 2);
    if (!flags.has(name)) throw new Error(`unknown argument ${name}\n${usage}`);
    if (name === '--list') {
      given.set(name, ['']);
      continue;
    }
    const value = written ?? argv[++at];
    if (value === undefined) throw new Error(`${name} needs a value\n${usage}`);
    given.set(name, [...(given.get(name) ?? []), value]);
  }
  const number = (name: string, byDefault: number): number => {
    const text = given.get(name)?.at(-1);
    const value = text === undefined ? byDefault : Number(text);
    if (!Number.isFinite(value) || value < 0) throw new Error(`${name} needs a number, not ${text}`);
    return value;
  };
  const replay = given.get('--replay')?.at(-1);
  const targets = given.get('--target') ?? [];
  if (replay !== undefined && targets.length !== 1) throw new Error('--replay needs one --target');
  return {
    minutes: number('--minutes', 5),
    targets,
    seed: number('--seed', Math.floor(nowMs / 1000) % 2 ** 31),
    from: number('--from', 0),
    inputs: number('--inputs', Number.MAX_SAFE_INTEGER),
    replay,
    list: given.has('--list'),
  };
}

const flags = new Set(['--minutes', '--target', '--seed', '--from', '--inputs', '--replay', '--list']);
