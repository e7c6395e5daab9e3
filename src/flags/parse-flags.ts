/** Parses a command line by a table of flags, with pflag's rules. */
import { FlagError } from './flag-error.js';
import type { FlagSpecs, FlagValues } from './flag-spec.js';
import { FlagNames, type FlagOccurrence, isFlagWord } from './flag-words.js';

export interface ParsedFlags<Specs extends FlagSpecs> {
  readonly values: FlagValues<Specs>;
  /** Names of the flags on the command line, in the order of their first occurrence. */
  readonly given: ReadonlySet<string>;
  readonly positionals: readonly string[];
  /** The words after `--`; undefined without one. */
  readonly rest: readonly string[] | undefined;
}

/** Accepts flags anywhere before `--`. Throws a FlagError. */
export function parseFlags<Specs extends FlagSpecs>(
  argv: readonly string[],
  specs: Specs,
): ParsedFlags<Specs> {
  const names = new FlagNames(specs);
  const values = new Map<string, unknown>();
  const positionals: string[] = [];
  let rest: readonly string[] | undefined;
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? '';
    if (word === '--') {
      rest = argv.slice(at + 1);
      break;
    }
    if (!isFlagWord(word)) {
      positionals.push(word);
      continue;
    }
    const { complete, awaitsValue } = names.read(word);
    for (const occurrence of complete) accept(occurrence, values);
    if (awaitsValue === undefined) continue;
    const text = argv[++at];
    if (text === undefined) throw new FlagError({ kind: 'missing-value', flag: awaitsValue });
    accept({ ...awaitsValue, text }, values);
  }
  return { values: withUnset(specs, values), given: new Set(values.keys()), positionals, rest };
}

function accept(occurrence: FlagOccurrence, values: Map<string, unknown>): void {
  const { text, ...flag } = occurrence;
  const { name, spec } = flag;
  let value: unknown;
  try {
    value = spec.type.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new FlagError({ kind: 'invalid-value', flag, text, reason }, { cause });
  }
  const isRepeated = values.has(name);
  values.set(name, isRepeated && spec.type.join ? spec.type.join(values.get(name), value) : value);
}

function withUnset<Specs extends FlagSpecs>(
  specs: Specs,
  values: ReadonlyMap<string, unknown>,
): FlagValues<Specs> {
  const entries = Object.entries(specs).map(([name, { type }]) => [
    name,
    values.has(name) ? values.get(name) : type.unset,
  ]);
  // Every value comes from the type of its flag, and FlagValues is derived from the same types.
  return Object.fromEntries(entries) as FlagValues<Specs>;
}
