/**
 * Parses untrusted YAML within limits, and keeps the syntax tree so that each field can be found in the text.
 */
import {
  Composer,
  type CST,
  isMap,
  isSeq,
  Lexer,
  LineCounter,
  type ParsedNode,
  Parser,
  type ScalarTag,
  type Tags,
  type Document as YamlDocument,
} from 'yaml';
import { errorText } from '../../async/index.js';
import type { FieldPath, SourcePosition } from './document.js';
import {
  type DocumentLimits,
  maxProblems,
  SyntaxProblem,
  tooDeep,
  tooLong,
  tooManyTokens,
} from './document-limits.js';

export interface YamlPart {
  readonly value: unknown;
  readonly duplicateKeys: readonly (SourcePosition & { readonly key: string })[];
  locate(path: FieldPath): SourcePosition | undefined;
}

/** The non-empty documents of a text. Throws SyntaxProblem. */
export function parseYaml(text: string, file: string, limits: DocumentLimits): YamlPart[] {
  const lines = new LineCounter();
  const fail = (offset: number, message: string): never => {
    const at = lines.linePos(offset);
    throw new SyntaxProblem(file, message, { line: at.line, column: at.col });
  };
  const tree = readTree(text, lines, limits, fail);
  const composer = new Composer({
    lineCounter: lines,
    uniqueKeys: false,
    version: '1.1',
    schema: 'yaml-1.1',
    customTags: kubernetesTags,
    // Problems are reported with their place; the parser's own warnings would go to the process's standard error.
    logLevel: 'error',
  });
  const parts: YamlPart[] = [];
  for (const document of composed(composer, tree.tokens, text.length)) {
    const problem = document.errors[0];
    if (problem !== undefined) {
      const [firstLine = problem.message] = problem.message.split('\n');
      // The parser's own error is not kept as the cause: it quotes the text, which may contain secrets.
      fail(problem.pos[0], withoutQuotes(firstLine.replace(/ at line \d+, column \d+:?$/, '')));
    }
    const root = document.contents;
    if (root === null) continue;
    const value = plainValue(document, file);
    if (value === null || value === undefined) continue;
    if (tree.aliases > 0) checkExpanded(value, limits, (message) => fail(root.range?.[0] ?? 0, message));
    const placesOf = mappingPlaces();
    parts.push({
      value,
      duplicateKeys: findDuplicateKeys(root, lines),
      locate: (path) => locate(root, path, lines, placesOf),
    });
  }
  return parts;
}

interface Tree {
  readonly tokens: readonly CST.Token[];
  readonly aliases: number;
}

type FailAtOffset = (offset: number, message: string) => never;

/** The syntax tree; stops as soon as it exceeds a limit: composing it recurses once per level. */
function readTree(text: string, lines: LineCounter, limits: DocumentLimits, fail: FailAtOffset): Tree {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  const tokens: CST.Token[] = [];
  let lexemes = 0;
  let aliases = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (++lexemes > limits.maxTokens) fail(parser.offset, tooManyTokens(limits.maxTokens));
    if (lexeme.startsWith('*')) aliases++;
    for (const token of parser.next(lexeme)) tokens.push(token);
    // The stack holds the document, then one entry per level, then a scalar.
    if (parser.stack.length > limits.maxDepth + 2) {
      const field = fieldOf(parser.stack);
      fail(parser.offset, `${field === '' ? '' : `${field}: `}${tooDeep(limits.maxDepth)}`);
    }
  }
  for (const token of parser.end()) tokens.push(token);
  // A merge copies what it names, so limit how much of the text can be copied in total.
  if (aliases * lexemes > maxCopies) {
    fail(0, `its ${aliases} aliases repeat too much of it; write the values out or split it`);
  }
  for (const token of tokens) if (token.type === 'document') checkKeys(token, fail);
  return { tokens, aliases };
}

const maxCopies = 10_000_000;

/** The documents in order; stops after the first with errors. */
function* composed(
  composer: Composer,
  tokens: readonly CST.Token[],
  length: number,
): Generator<YamlDocument.Parsed<ParsedNode>> {
  for (const token of tokens) yield* withoutTraces(() => [...composer.next(token)]);
  yield* composer.end(false, length);
}

/** A text with thousands of errors would otherwise spend most of its time on stack traces. */
function withoutTraces<T>(compose: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return compose();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The outermost three names on the parser's stack: enough to say where to look. */
function fieldOf(stack: readonly CST.Token[]): string {
  const names: string[] = [];
  for (const token of stack) {
    if (!('items' in token)) continue;
    const last = token.items.at(-1);
    if (last === undefined) break;
    if (token.type === 'block-seq') names.push(`[${token.items.length - 1}]`);
    else if (last.key !== undefined && last.key !== null && 'source' in last.key) {
      names.push(`.${last.key.source.slice(0, 60)}`);
    } else break;
    if (names.length === 3) break;
  }
  return names.join('').replace(/^\./, '');
}

/** A list or mapping as a key would be written out as text, and nesting doubles that with each level. */
function checkKeys(document: CST.Document, fail: FailAtOffset): void {
  const left: (CST.Token | null | undefined)[] = [document.value];
  while (left.length > 0) {
    const token = left.pop();
    if (token === null || token === undefined || !('items' in token)) continue;
    for (const { key, value } of token.items) {
      if (key !== null && key !== undefined && 'items' in key) {
        fail(key.offset, 'a list or mapping cannot be the name of a field; write a text before the colon');
      }
      left.push(value);
    }
  }
}

/** Aliases repeat values, also ones with aliases: the expansion must fit the limits, too. */
function checkExpanded(root: unknown, limits: DocumentLimits, fail: (message: string) => never): void {
  let size = 0;
  const left: { readonly value: unknown; readonly depth: number }[] = [{ value: root, depth: 0 }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { value, depth } = next;
    size += typeof value === 'string' ? 1 + value.length : 1;
    if (size > limits.maxLength) fail(`with its aliases written out ${tooLong(limits.maxLength)}`);
    if (typeof value !== 'object' || value === null) continue;
    if (depth >= limits.maxDepth) fail(`with its aliases written out, ${tooDeep(limits.maxDepth)}`);
    for (const [key, member] of Object.entries(value)) {
      size += Array.isArray(value) ? 0 : key.length;
      left.push({ value: member, depth: depth + 1 });
    }
  }
}

/** Anchors that multiply ("billion laughs") become an error instead of filling the memory. */
function plainValue(document: YamlDocument.Parsed<ParsedNode>, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    // No cause here either.
    throw new SyntaxProblem(file, withoutQuotes(errorText(error)));
  }
}

/**
 * The parser names the offending text after a colon; a password with a leading `*` would be quoted as an
 * alias.
 */
function withoutQuotes(message: string): string {
  return message.replace(/(?<=[\w)]): .*$/s, '').replace(/^(Invalid escape sequence) .*$/s, '$1');
}

/**
 * Kubernetes reads YAML 1.1, so `0644` is octal and `yes` is true, but dates stay text and `1:30` is not a
 * number; it also reads `0o644` of YAML 1.2.
 */
function kubernetesTags(tags: Tags): Tags {
  return [...tags.filter((tag) => !isUnwantedTag(tag)).map(withDigits), newStyleOctal];
}

/** A number has a digit before its exponent: the parser's own rule takes the text `e8` for one, and makes it NaN. */
function withDigits(tag: Tags[number]): Tags[number] {
  if (typeof tag === 'string' || tag.collection !== undefined || tag.tag !== 'tag:yaml.org,2002:float')
    return tag;
  if (tag.test?.test('.nan') === true) return tag;
  return { ...tag, test: tag.format === 'EXP' ? exponential : fractional };
}

const exponential = /^[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)[eE][-+]?[0-9]+$/;
const fractional = /^[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)$/;

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

interface YamlMember {
  readonly key: ParsedNode;
  readonly value: ParsedNode | null;
}

type MembersOf = (mapping: object, items: readonly YamlMember[]) => ReadonlyMap<string, YamlMember>;

/** The members of each mapping by name, indexed once: every problem of a large mapping needs them. */
function mappingPlaces(): MembersOf {
  const known = new WeakMap<object, ReadonlyMap<string, YamlMember>>();
  return (mapping, items) => {
    const before = known.get(mapping);
    if (before !== undefined) return before;
    // The last of two equal keys counts.
    const places = new Map(items.map((item) => [String(item.key), item]));
    known.set(mapping, places);
    return places;
  };
}

function locate(
  root: ParsedNode,
  path: FieldPath,
  lines: LineCounter,
  placesOf: MembersOf,
): SourcePosition | undefined {
  let node: ParsedNode | null | undefined = root;
  let offset = root.range?.[0];
  for (const part of path) {
    if (isMap<ParsedNode, ParsedNode | null>(node) && typeof part === 'string') {
      const member: YamlMember | undefined = placesOf(node, node.items).get(part);
      if (member === undefined) break;
      offset = member.key.range?.[0] ?? offset;
      node = member.value;
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

/** Recurses once per level, of which there are few. */
function findDuplicateKeys(
  root: ParsedNode,
  lines: LineCounter,
): (SourcePosition & { readonly key: string })[] {
  const found: (SourcePosition & { readonly key: string })[] = [];
  const visit = (current: unknown): void => {
    if (isMap<ParsedNode, ParsedNode | null>(current)) {
      const seen = new Set<string>();
      for (const pair of current.items) {
        const key = String(pair.key);
        if (seen.has(key) && found.length < maxProblems) {
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
  visit(root);
  return found;
}
