/**
 * Parses YAML or JSON into plain values and remembers each field's position, so that errors can point at it.
 */
import { LineCounter } from 'yaml';
import {
  agentLimits,
  type DocumentLimits,
  maxProblems,
  SyntaxProblem,
  tooDeep,
  tooLong,
  tooManyTokens,
} from './document-limits.js';
import { duplicateJsonKeys, jsonPathAt, jsonPlaces, measureJson } from './json-text.js';
import { parseYaml } from './yaml-text.js';

/** A mapping of YAML, or an object of JSON, whose keys are not checked yet. */
export type Mapping = Readonly<Record<string, unknown>>;

export type FieldPath = readonly (string | number)[];

export interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

export interface DuplicateKey extends SourcePosition {
  readonly key: string;
}

/** One object of a file, with the positions of its fields. */
export interface SourceDocument {
  readonly file: string;
  readonly value: unknown;
  /** Keys that appear more than once in one mapping, the first hundred; `value` has the last one. */
  readonly duplicateKeys: readonly DuplicateKey[];
  /** A field's position, or that of its nearest existing ancestor when it is missing. */
  locate(path: FieldPath): SourcePosition | undefined;
}

/** Fields whose members are free keys; a field path puts those in brackets. */
const keyedFields: ReadonlySet<string> = new Set([
  'labels',
  'annotations',
  'nodeSelector',
  'matchLabels',
  'limits',
  'requests',
]);

/** `spec.containers[0].resources.limits[cpu]`, the form of a Kubernetes field path. */
export function formatFieldPath(path: FieldPath): string {
  let text = '';
  let previous: string | number | undefined;
  for (const part of path) {
    const isKey = typeof part === 'number' || (typeof previous === 'string' && keyedFields.has(previous));
    if (isKey) text += `[${part}]`;
    else text += text === '' ? part : `.${part}`;
    previous = part;
  }
  return text;
}

/** Splits a text at `---` and parses every non-empty document. Throws SyntaxProblem. */
export function parseSource(
  text: string,
  file: string,
  limits: DocumentLimits = agentLimits,
): SourceDocument[] {
  if (text.length > limits.maxLength) throw new SyntaxProblem(file, tooLong(limits.maxLength));
  const json = parseJsonSource(text, file, limits);
  return json === undefined ? parseYaml(text, file, limits).map((part) => ({ file, ...part })) : [json];
}

/**
 * JSON is YAML, but a JSON parser is many times faster; field positions are found on demand. Undefined for
 * anything but a JSON object.
 */
function parseJsonSource(text: string, file: string, limits: DocumentLimits): SourceDocument | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  const { values, keys, tooDeepAt } = measureJson(text, limits.maxDepth);
  if (values > limits.maxTokens) throw new SyntaxProblem(file, tooManyTokens(limits.maxTokens));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // It may be a YAML flow mapping; if not, the YAML parser reports better what is wrong.
    return undefined;
  }
  const positionOf = linesOf(text);
  if (tooDeepAt !== undefined) {
    const field = formatFieldPath(jsonPathAt(text, tooDeepAt).slice(0, 3));
    throw new SyntaxProblem(file, `${field}: ${tooDeep(limits.maxDepth)}`, positionOf(tooDeepAt));
  }
  let placeOf: ReturnType<typeof jsonPlaces> | undefined;
  return {
    file,
    value,
    duplicateKeys:
      countKeys(value) === keys
        ? []
        : duplicateJsonKeys(text, maxProblems).map(({ key, offset }) => ({ key, ...positionOf(offset) })),
    locate: (path) => {
      placeOf ??= jsonPlaces(text);
      return positionOf(placeOf(path));
    },
  };
}

function linesOf(text: string): (offset: number) => SourcePosition {
  let lines: LineCounter | undefined;
  return (offset) => {
    if (lines === undefined) {
      lines = new LineCounter();
      lines.addNewLine(0);
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1))
        lines.addNewLine(end + 1);
    }
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
}

/** The members of all objects in a value. */
function countKeys(value: unknown): number {
  let count = 0;
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next !== 'object' || next === null) continue;
    const members: readonly unknown[] = Object.values(next);
    if (!Array.isArray(next)) count += members.length;
    for (const member of members) left.push(member);
  }
  return count;
}
