/** What is wrong with a manifest, and where: the form in which decoding reports errors and warnings. */
import type { FieldPath, Position, SourceDocument } from './document.js';
import { formatFieldPath } from './document.js';
import { firstProblems } from './document-limits.js';

export interface Problem {
  readonly file: string;
  /** From 1; 0 when it is the file as a whole, with no place in it. */
  readonly line: number;
  readonly column: number;
  /** `spec.containers[0].image`; empty for the document itself. */
  readonly field: string;
  readonly message: string;
}

/** A manifest that cannot be used, with everything that is wrong with it, or the first hundred problems. */
export class InvalidManifest extends Error {
  override readonly name = 'InvalidManifest';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const told = someProblems(problems);
    super(told.map(formatProblem).join('\n'));
    this.problems = told;
  }
}

/** The first hundred, and whether there are others. */
export function someProblems(problems: readonly Problem[]): readonly Problem[] {
  return firstProblems(problems, ({ file }) => ({
    file,
    line: 0,
    column: 0,
    field: '',
    message: 'there are more problems; correct those above first',
  }));
}

/** `pod.yaml:7:5: spec.containers[0].image: expected …` */
export function formatProblem(problem: Problem): string {
  const place =
    problem.line === 0 ? `${problem.file}: ` : `${problem.file}:${problem.line}:${problem.column}: `;
  return problem.field === '' ? place + problem.message : `${place}${problem.field}: ${problem.message}`;
}

/** A problem of a field, placed at the field or its nearest ancestor in the text. */
export function problemAt(document: SourceDocument, path: FieldPath, message: string): Problem {
  const position: Position = document.locate(path) ?? { line: 1, column: 1 };
  return { file: document.file, ...position, field: formatFieldPath(path), message };
}
