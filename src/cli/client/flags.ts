/** Parses the flags of a command, and turns problems into usage errors. */
import {
  FlagError,
  type FlagProblem,
  type FlagSpecs,
  type ParsedFlags,
  parseFlags,
} from '../../flags/index.js';
import { UsageError } from './usage-error.js';

/** Throws a UsageError. */
export function parseCommandFlags<Specs extends FlagSpecs>(
  argv: readonly string[],
  specs: Specs,
): ParsedFlags<Specs> {
  try {
    return parseFlags(argv, specs);
  } catch (error) {
    if (!(error instanceof FlagError)) throw error;
    throw new UsageError(usageText(error.problem) ?? error.message, { cause: error });
  }
}

/** Undefined to use the text of the flag engine. */
function usageText(problem: FlagProblem): string | undefined {
  switch (problem.kind) {
    case 'unknown-flag': {
      const { name, nearest } = problem;
      return `unknown flag: --${name}${nearest === undefined ? '' : `; did you mean --${nearest}?`}`;
    }
    case 'missing-value':
      return `flag needs an argument: ${problem.flag.written}`;
    case 'invalid-value':
      // Commands have only string and bool flags, and every string is valid.
      return `invalid argument ${JSON.stringify(problem.text)} for ${problem.flag.written}: true or false`;
    case 'bad-syntax':
    case 'unknown-shorthand':
      return undefined;
  }
}

/** A whole number of at least `least`; undefined when the flag is not given. */
export function wholeNumber(shown: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^[+-]?\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new UsageError(`invalid argument ${JSON.stringify(text)} for ${shown}: a whole number`);
  if (value < least) throw new UsageError(`${shown} must be at least ${least}`);
  return value;
}
