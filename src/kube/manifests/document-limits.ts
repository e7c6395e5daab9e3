/** Limits on untrusted text: bytes, nesting and values, and the errors beyond them. */
import type { SourcePosition } from './document.js';
import type { Problem } from './problem.js';

/** A text that could not be parsed as YAML or JSON. The message names file and line. */
export class SyntaxProblem extends Error {
  override readonly name = 'SyntaxProblem';
  readonly problem: Problem;

  /** Without a position, the problem is about the whole file. */
  constructor(file: string, message: string, { line, column }: SourcePosition = { line: 0, column: 0 }) {
    super(`${file}${line === 0 ? '' : `:${line}:${column}`}: ${message}`);
    this.problem = { file, line, column, field: '', message };
  }
}

export interface DocumentLimits {
  /** Characters in the text. */
  readonly maxLength: number;
  /** Nesting of lists and mappings. Every walk over a value recurses once per level. */
  readonly maxDepth: number;
  /** Values in JSON, or tokens in YAML: the cost of parsing grows with them, and it blocks the agent. */
  readonly maxTokens: number;
}

/** A pod's deepest field is at level 12. */
export const maxDepth = 100;

/** For what the agent parses while pods wait: about half a second at most. */
export const agentLimits: DocumentLimits = {
  maxLength: 10 * 1024 * 1024,
  maxDepth,
  maxTokens: 250_000,
};

/** For a command's input; the command has nothing else to do. */
export const commandLimits: DocumentLimits = { ...agentLimits, maxTokens: 4_000_000 };

/** Problems reported per text; a list of thousands helps nobody. */
export const maxProblems = 100;

export function tooDeep(limit: number): string {
  return `lists and mappings are nested more than ${limit} levels deep; flatten or remove this field`;
}

export function tooLong(limit: number): string {
  return `it has more than ${limit} characters; split it or remove what is not needed`;
}

export function tooManyTokens(limit: number): string {
  return `it has more than ${limit} values; split it or remove what is not needed`;
}

/** The first problems, with one in place of the rest that says there are more. */
export function firstProblems<T>(problems: readonly T[], andMore: (last: T) => T): readonly T[] {
  const last = problems[maxProblems - 1];
  if (last === undefined || problems.length === maxProblems) return problems;
  return [...problems.slice(0, maxProblems), andMore(last)];
}
