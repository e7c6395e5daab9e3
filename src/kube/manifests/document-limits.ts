/** How much a text from outside may ask of its reader: bytes, nesting and values, and the errors that say so. */

/** A text that could not be read as YAML or JSON. The message names file and line. */
export class SyntaxProblem extends Error {
  override readonly name = 'SyntaxProblem';
}

export interface DocumentLimits {
  /** Characters in the text. */
  readonly maxLength: number;
  /** Lists and mappings inside one another. Every walk over a value recurses once a level. */
  readonly maxDepth: number;
  /** Values in JSON, or words and signs in YAML: what reading costs grows with them, and the agent waits meanwhile. */
  readonly maxTokens: number;
}

/** The deepest field of a pod stands 12 levels deep. */
export const maxDepth = 100;

/** For what the agent reads while pods wait: about half a second at most. */
export const agentLimits: DocumentLimits = {
  maxLength: 10 * 1024 * 1024,
  maxDepth,
  maxTokens: 250_000,
};

/** For what a person gives a command that has nothing else to do. */
export const commandLimits: DocumentLimits = { ...agentLimits, maxTokens: 4_000_000 };

/** So many problems of one text are told; a list of thousands helps nobody. */
export const maxProblems = 100;

export function tooDeep(limit: number): string {
  return `lists and mappings stand inside one another more than ${limit} levels deep; flatten or remove this field`;
}

export function tooLong(limit: number): string {
  return `it has more than ${limit} characters; split it or remove what is not needed`;
}

export function tooManyTokens(limit: number): string {
  return `it has more than ${limit} values; split it or remove what is not needed`;
}

/** The first problems, and in place of the others one that says that there are more. */
export function firstProblems<T>(problems: readonly T[], andMore: (last: T) => T): readonly T[] {
  const last = problems[maxProblems - 1];
  if (last === undefined || problems.length === maxProblems) return problems;
  return [...problems.slice(0, maxProblems), andMore(last)];
}
