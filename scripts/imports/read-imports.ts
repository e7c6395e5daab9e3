/** Finds what a TypeScript file imports, without a compiler: comments, strings, templates and regular expressions are told apart from code. */

export interface Import {
  readonly specifier: string;
  /** Counted from 1. */
  readonly line: number;
}

type Token =
  | { readonly kind: 'word'; readonly text: string }
  | { readonly kind: 'string'; readonly text: string; readonly line: number }
  | { readonly kind: 'sign'; readonly text: string };

/** Static and dynamic imports, re-exports and `require` with a literal, types included. */
export function readImports(source: string): Import[] {
  const found: Import[] = [];
  const before: Token[] = [];
  for (const token of tokens(source)) {
    if (token.kind === 'string' && introducesSpecifier(before)) {
      found.push({ specifier: token.text, line: token.line });
    }
    before.unshift(token);
    before.length = Math.min(before.length, 3);
  }
  return found;
}

/** `from '…'`, `import '…'`, `import('…')` and `require('…')`, but not a method of one of these names. */
function introducesSpecifier([last, second, third]: readonly Token[]): boolean {
  if (last?.kind === 'word') return (last.text === 'from' || last.text === 'import') && !isSign(second, '.');
  if (!isSign(last, '(') || second?.kind !== 'word') return false;
  return (second.text === 'import' || second.text === 'require') && !isSign(third, '.');
}

function isSign(token: Token | undefined, text: string): boolean {
  return token?.kind === 'sign' && token.text === text;
}

const wordPattern = /[\p{ID_Start}$_][\p{ID_Continue}$]*|\d[\w.]*/uy;
/** A backslash takes the next character with it, a class may hold a slash. */
const regexPattern = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const valueKeywords = new Set([
  'return',
  'typeof',
  'case',
  'in',
  'of',
  'void',
  'yield',
  'await',
  'else',
  'throw',
]);

function* tokens(source: string): Generator<Token> {
  let at = 0;
  let line = 1;
  let previous: Token | undefined;
  /** Braces that are open in each template expression we are inside of. */
  const templates: number[] = [];
  const skipTo = (end: number): void => {
    for (let index = at; index < end; index++) if (source[index] === '\n') line++;
    at = end;
  };
  const matchHere = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0];
  };
  const emit = function* (token: Token): Generator<Token> {
    previous = token;
    yield token;
  };

  while (at < source.length) {
    const char = source[at] ?? '';
    const two = source.slice(at, at + 2);
    if (two === '//') {
      skipTo(endOf(source, '\n', at, 0));
    } else if (two === '/*') {
      skipTo(endOf(source, '*/', at + 2, 2));
    } else if (char === "'" || char === '"') {
      const end = endOfQuoted(source, at + 1, char);
      yield* emit({ kind: 'string', text: source.slice(at + 1, end - 1), line });
      skipTo(end);
    } else if (char === '`' || (char === '}' && templates.at(-1) === 0)) {
      if (char === '}') templates.pop();
      const end = endOfTemplatePart(source, at + 1);
      if (source[end - 1] === '{') templates.push(0);
      yield* emit({ kind: 'sign', text: source[end - 1] === '{' ? '${' : ')' });
      skipTo(end);
    } else if (char === '/' && startsValue(previous) && matchHere(regexPattern) !== undefined) {
      const regex = matchHere(regexPattern) ?? char;
      yield* emit({ kind: 'sign', text: ')' });
      skipTo(at + regex.length);
    } else {
      const word = matchHere(wordPattern);
      if (word !== undefined) {
        yield* emit({ kind: 'word', text: word });
        skipTo(at + word.length);
      } else {
        if (!/\s/.test(char)) {
          const open = templates.length - 1;
          const depth = templates[open];
          if (depth !== undefined && char === '{') templates[open] = depth + 1;
          if (depth !== undefined && char === '}') templates[open] = depth - 1;
          yield* emit({ kind: 'sign', text: char });
        }
        skipTo(at + 1);
      }
    }
  }
}

/** Whether a slash after this token begins a regular expression: where a value may begin, nothing can be divided. */
function startsValue(previous: Token | undefined): boolean {
  if (previous === undefined) return true;
  switch (previous.kind) {
    case 'string':
      return false;
    case 'word':
      return valueKeywords.has(previous.text);
    case 'sign':
      return previous.text !== ')' && previous.text !== ']' && previous.text !== '}';
  }
}

function endOf(source: string, end: string, from: number, length: number): number {
  const index = source.indexOf(end, from);
  return index < 0 ? source.length : index + length;
}

function endOfQuoted(source: string, from: number, quote: string): number {
  let at = from;
  while (at < source.length && source[at] !== quote) at += source[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** After the closing backtick, or after the `${` that interrupts the template. */
function endOfTemplatePart(source: string, from: number): number {
  let at = from;
  while (at < source.length) {
    if (source[at] === '`') return at + 1;
    if (source[at] === '$' && source[at + 1] === '{') return at + 2;
    at += source[at] === '\\' ? 2 : 1;
  }
  return at;
}
