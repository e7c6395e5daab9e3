/** Reads YAML or JSON text into plain values and remembers where each field stands, so that errors can point at it. */
import {
  isMap,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseAllDocuments,
  type ScalarTag,
  type Tags,
  type Document as YamlDocument,
} from 'yaml';

export type FieldPath = readonly (string | number)[];

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A text that could not be read as YAML or JSON. The message names file and line. */
export class SyntaxProblem extends Error {
  override readonly name = 'SyntaxProblem';
}

export interface DuplicateKey extends Position {
  readonly key: string;
}

/** One object of a file, with the place of each of its fields. */
export interface SourceDocument {
  readonly file: string;
  readonly value: unknown;
  /** Keys written more than once in one mapping; the last one is in `value`. */
  readonly duplicateKeys: readonly DuplicateKey[];
  /** Where a field stands, or its nearest existing ancestor when it is missing. */
  locate(path: FieldPath): Position | undefined;
}

/** Fields whose members are free keys; those stand in brackets in a field path. */
const keyedFields: ReadonlySet<string> = new Set([
  'labels',
  'annotations',
  'nodeSelector',
  'matchLabels',
  'limits',
  'requests',
]);

/** `spec.containers[0].resources.limits[cpu]`, as Kubernetes writes a field path. */
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

/**
 * Kubernetes reads YAML 1.1, so `0644` is octal and `yes` is true, but dates stay text and `1:30` is
 * no number; `0o644` of YAML 1.2 is read as well.
 */
function kubernetesTags(tags: Tags): Tags {
  return [...tags.filter((tag) => !isUnwantedTag(tag)), newStyleOctal];
}

function isUnwantedTag(tag: Tags[number]): boolean {
  if (typeof tag === 'string') return tag === 'timestamp' || tag === 'intTime' || tag === 'floatTime';
  return tag.tag === 'tag:yaml.org,2002:timestamp' || tag.format === 'TIME';
}

const newStyleOctal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+]?0o[0-7]+$/,
  resolve: (text) => Number(text.replace(/^[-+]/, '')) * (text.startsWith('-') ? -1 : 1),
};

/** Splits a text at `---` and parses every non-empty document in it. */
export function parseSource(text: string, file: string): SourceDocument[] {
  const json = parseJson(text, file);
  return json === undefined ? parseYaml(text, file) : [json];
}

/**
 * JSON is YAML, but read many times faster for what it is; where a field stands is found out when somebody
 * asks. Undefined for what is no JSON object, or one with a key that is written twice.
 */
function parseJson(text: string, file: string): SourceDocument | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // It may be a mapping in YAML's own way; if it is not, the other parser knows better what is wrong.
    return undefined;
  }
  if (countKeys(value) !== countWrittenKeys(text)) return undefined;
  let parsed: readonly SourceDocument[] | undefined;
  return {
    file,
    value,
    duplicateKeys: [],
    locate: (path) => {
      parsed ??= parseYaml(text, file);
      return parsed[0]?.locate(path);
    },
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

/** The strings in a JSON text that a colon follows. */
function countWrittenKeys(text: string): number {
  let count = 0;
  for (let start = text.indexOf('"'); start >= 0; ) {
    let end = text.indexOf('"', start + 1);
    while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
    let after = end + 1;
    while (isJsonSpace(text.charCodeAt(after))) after++;
    if (text[after] === ':') count++;
    start = text.indexOf('"', end + 1);
  }
  return count;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === '\\') backslashes++;
  return backslashes % 2 === 1;
}

function isJsonSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function parseYaml(text: string, file: string): SourceDocument[] {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    uniqueKeys: false,
    version: '1.1',
    schema: 'yaml-1.1',
    customTags: kubernetesTags,
  });
  if (!Array.isArray(documents)) return [];
  const result: SourceDocument[] = [];
  for (const document of documents as YamlDocument.Parsed<ParsedNode>[]) {
    const problem = document.errors[0];
    if (problem !== undefined) {
      const at = lines.linePos(problem.pos[0]);
      const [firstLine = problem.message] = problem.message.split('\n');
      // The parser's own error is not kept as the cause: it quotes the text, which may hold secrets.
      throw new SyntaxProblem(
        `${file}:${at.line}:${at.col}: ${withoutQuotes(firstLine.replace(/ at line \d+, column \d+:?$/, ''))}`,
      );
    }
    const root = document.contents;
    if (root === null) continue;
    const value = toPlainValue(document, file);
    if (value === null || value === undefined) continue;
    result.push({
      file,
      value,
      duplicateKeys: findDuplicateKeys(root, lines),
      locate: (path) => locate(root, path, lines),
    });
  }
  return result;
}

/** Anchors that multiply ("billion laughs") end as an error instead of filling the memory. */
function toPlainValue(document: YamlDocument.Parsed<ParsedNode>, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    // No cause here either.
    throw new SyntaxProblem(
      `${file}: ${withoutQuotes(error instanceof Error ? error.message : String(error))}`,
    );
  }
}

/** The parser tells after a colon what it stumbled over; a password with a leading `*` would be told as an alias. */
function withoutQuotes(message: string): string {
  return message.replace(/(?<=[\w)]): .*$/s, '').replace(/^(Invalid escape sequence) .*$/s, '$1');
}

function locate(root: ParsedNode, path: FieldPath, lines: LineCounter): Position | undefined {
  let node: ParsedNode | null | undefined = root;
  let offset = root.range?.[0];
  for (const part of path) {
    if (isMap<ParsedNode, ParsedNode | null>(node) && typeof part === 'string') {
      const pair: { key: ParsedNode; value: ParsedNode | null } | undefined = node.items.findLast(
        (item) => String(item.key) === part,
      );
      if (pair === undefined) break;
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq<ParsedNode>(node) && typeof part === 'number') {
      node = node.items[part];
      if (node === undefined) break;
      offset = node.range?.[0] ?? offset;
    } else break;
  }
  if (offset === undefined) return undefined;
  const at = lines.linePos(offset);
  return { line: at.line, column: at.col };
}

function findDuplicateKeys(node: ParsedNode | null, lines: LineCounter): DuplicateKey[] {
  const found: DuplicateKey[] = [];
  const visit = (current: unknown): void => {
    if (isMap<ParsedNode, ParsedNode | null>(current)) {
      const seen = new Set<string>();
      for (const pair of current.items) {
        const key = String(pair.key);
        if (seen.has(key)) {
          const at = lines.linePos(pair.key.range?.[0] ?? 0);
          found.push({ key, line: at.line, column: at.col });
        }
        seen.add(key);
        visit(pair.value);
      }
    } else if (isSeq(current)) {
      for (const item of current.items) visit(item);
    }
  };
  visit(node);
  return found;
}
