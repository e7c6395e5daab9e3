/** Problems of a manifest with their positions: the form of decoding errors and warnings. */
import type { FieldPath, SourceDocument, SourcePosition } from './document.js';
import { formatFieldPath } from './document.js';
import { firstProblems } from './document-limits.js';

export interface Problem {
  readonly file: string;
  /** From 1; 0 for the file as a whole. */
  readonly line: number;
  readonly column: number;
  /** `spec.containers[0].image`; empty for the document itself. */
  readonly field: string;
  readonly message: string;
}

/** An unusable manifest, with all of its problems, or the first hundred. */
export class InvalidManifest extends Error {
  override readonly name = 'InvalidManifest';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const told = someProblems(problems);
    super(told.map(formatProblem).join('\n'));
    this.problems = told;
  }
}

/** The first hundred, and whether there are more. */
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

/** A problem of a field, at the position of the field or its nearest ancestor. */
export function problemAt(document: SourceDocument, path: FieldPath, message: string): Problem {
  const position: SourcePosition = document.locate(path) ?? { line: 1, column: 1 };
  return { file: document.file, ...position, field: formatFieldPath(path), message };
}
