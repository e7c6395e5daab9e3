/** The problems of a command line, as data and as pflag's texts. */
import type { FlagSpec } from './flag-spec.js';

export type FlagProblem =
  | { readonly kind: 'bad-syntax'; readonly word: string }
  | {
      readonly kind: 'unknown-flag';
      /** Without the dashes. */
      readonly name: string;
      /** The most similar known name. */
      readonly nearest: string | undefined;
    }
  | { readonly kind: 'unknown-shorthand'; readonly letter: string; readonly word: string }
  | { readonly kind: 'missing-value'; readonly flag: WrittenFlag }
  | {
      readonly kind: 'invalid-value';
      readonly flag: WrittenFlag;
      readonly text: string;
      readonly reason: string;
    };

/** A flag as it stands on a command line. */
export interface WrittenFlag {
  readonly name: string;
  readonly spec: FlagSpec;
  /** How the flag was written: `--follow` or `-f`. */
  readonly written: string;
  /** The whole word that holds the flag: `-it`. */
  readonly word: string;
}

export class FlagError extends Error {
  override readonly name = 'FlagError';

  constructor(
    readonly problem: FlagProblem,
    options?: ErrorOptions,
  ) {
    super(problemText(problem), options);
  }
}

function problemText(problem: FlagProblem): string {
  switch (problem.kind) {
    case 'bad-syntax':
      return `bad flag syntax: ${problem.word}`;
    case 'unknown-flag':
      return `unknown flag: --${problem.name}`;
    case 'unknown-shorthand':
      return `unknown shorthand flag: '${problem.letter}' in ${problem.word}`;
    case 'missing-value': {
      const { written, word } = problem.flag;
      const place = written.startsWith('--') ? written : `'${written.slice(1)}' in ${word}`;
      return `flag needs an argument: ${place}`;
    }
    case 'invalid-value': {
      const { flag, text, reason } = problem;
      const shown = flag.spec.type.secret ? '' : ` ${JSON.stringify(text)}`;
      return `invalid argument${shown} for "${fullName(flag)}" flag: ${reason}`;
    }
  }
}

/** `-v, --v`. */
function fullName({ name, spec }: WrittenFlag): string {
  return spec.shorthand === undefined ? `--${name}` : `-${spec.shorthand}, --${name}`;
}
