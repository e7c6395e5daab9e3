/** Reads the flags of a command the way kubectl's are written, and tells what a mistyped one was meant to be. */
import { nearestName } from '../../config/nearest-name.js';
import { UsageError } from './usage-error.js';

export interface FlagSpec {
  readonly type: 'boolean' | 'string' | 'strings';
  readonly short?: string;
  /** Another long name for the same. */
  readonly alias?: string;
  /** What stands for the value in the help: `NAME`. */
  readonly value?: string;
  /** All values there are, for completion. */
  readonly values?: readonly string[];
  readonly help: string;
}

export type FlagSpecs = Readonly<Record<string, FlagSpec>>;

type FlagValue<Type> = Type extends 'boolean'
  ? boolean
  : Type extends 'strings'
    ? readonly string[]
    : string | undefined;

export type FlagValues<Specs extends FlagSpecs> = {
  readonly [Name in keyof Specs]: FlagValue<Specs[Name]['type']>;
};

export interface ParsedFlags<Specs extends FlagSpecs> {
  readonly values: FlagValues<Specs>;
  readonly positionals: readonly string[];
  /** What stands behind `--`; undefined without one. */
  readonly rest: readonly string[] | undefined;
}

/** Flags may stand anywhere before `--`. Throws a UsageError. */
export function parseFlags<Specs extends FlagSpecs>(
  argv: readonly string[],
  specs: Specs,
): ParsedFlags<Specs> {
  const values: Record<string, boolean | string | string[] | undefined> = {};
  for (const [name, { type }] of Object.entries(specs)) {
    values[name] = type === 'boolean' ? false : type === 'strings' ? [] : undefined;
  }
  const positionals: string[] = [];
  const set = (name: string, spec: FlagSpec, shown: string, text: string): void => {
    const before = values[name];
    if (spec.type === 'boolean') values[name] = booleanValue(shown, text);
    else if (Array.isArray(before)) before.push(text);
    else values[name] = text;
  };
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? '';
    const next = (shown: string): string => {
      const value = argv[++at];
      if (value === undefined) throw new UsageError(`flag needs an argument: ${shown}`);
      return value;
    };
    if (word === '--') return { values: typed(values), positionals, rest: argv.slice(at + 1) };
    if (word.startsWith('--')) {
      const equals = word.indexOf('=');
      const given = equals < 0 ? word.slice(2) : word.slice(2, equals);
      const [name, spec] = longFlag(specs, given);
      const shown = `--${given}`;
      if (equals >= 0) set(name, spec, shown, word.slice(equals + 1));
      else set(name, spec, shown, spec.type === 'boolean' ? 'true' : next(shown));
    } else if (word.startsWith('-') && word !== '-') {
      shortFlags(specs, word, next, set);
    } else {
      positionals.push(word);
    }
  }
  return { values: typed(values), positionals, rest: undefined };

  function typed(raw: typeof values): FlagValues<Specs> {
    // Every value was set by the type of its spec, from which the typed form is made.
    return raw as FlagValues<Specs>;
  }
}

/** `-it`, `-c app`, `-capp`, `-c=app`: letters in a row until one takes a value. */
function shortFlags(
  specs: FlagSpecs,
  word: string,
  next: (shown: string) => string,
  set: (name: string, spec: FlagSpec, shown: string, text: string) => void,
): void {
  for (let letter = 1; letter < word.length; letter++) {
    const shown = `-${word[letter]}`;
    const found = Object.entries(specs).find(([, { short }]) => short === word[letter]);
    if (found === undefined) throw new UsageError(`unknown shorthand flag: '${word[letter]}' in ${word}`);
    const [name, spec] = found;
    const tail = word.slice(letter + 1);
    if (spec.type === 'boolean' && !tail.startsWith('=')) {
      set(name, spec, shown, 'true');
    } else {
      set(name, spec, shown, tail === '' ? next(shown) : tail.replace(/^=/, ''));
      return;
    }
  }
}

function longFlag(specs: FlagSpecs, given: string): [string, FlagSpec] {
  for (const [name, spec] of Object.entries(specs)) {
    if (name === given || spec.alias === given) return [name, spec];
  }
  const near = nearestName(given, Object.keys(specs));
  throw new UsageError(`unknown flag: --${given}${near === undefined ? '' : `; did you mean --${near}?`}`);
}

function booleanValue(shown: string, text: string): boolean {
  if (['true', 't', '1'].includes(text.toLowerCase())) return true;
  if (['false', 'f', '0'].includes(text.toLowerCase())) return false;
  throw new UsageError(`invalid argument ${JSON.stringify(text)} for ${shown}: true or false`);
}

/** A whole number, of at least `least`; undefined when the flag was not given. */
export function wholeNumber(shown: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^[+-]?\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new UsageError(`invalid argument ${JSON.stringify(text)} for ${shown}: a whole number`);
  if (value < least) throw new UsageError(`${shown} must be at least ${least}`);
  return value;
}
