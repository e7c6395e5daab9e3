/** Cuts the text of a proto into words and signs, without its comments. */

export interface Token {
  readonly text: string;
  readonly line: number;
}

export interface Tokens {
  readonly tokens: readonly Token[];
  /** Lines with a declaration whose comment says `@bigint`. */
  readonly bigintLines: ReadonlySet<number>;
}

const pattern = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|-?[\w.]+|\S/g;

export function tokenize(source: string): Tokens {
  const tokens: Token[] = [];
  const bigintLines = new Set<number>();
  let line = 1;
  let at = 0;
  for (const { 0: text, index } of source.matchAll(pattern)) {
    line += newlines(source.slice(at, index));
    at = index;
    if (!text.startsWith('//') && !text.startsWith('/*')) tokens.push({ text, line });
    else if (text.includes('@bigint') && tokens.at(-1)?.line === line) bigintLines.add(line);
  }
  return { tokens, bigintLines };
}

function newlines(text: string): number {
  return text.split('\n').length - 1;
}
