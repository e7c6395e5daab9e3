/** Parses env files, from which `fileKeyRef` takes variables. */

/**
 * A variable's value, undefined when the file does not have it. Reading stops at the first line with that
 * name, so later errors do not matter; anything malformed before it is an error.
 */
export function findInEnvFile(text: string, key: string): string | undefined {
  let at = 0;
  let line = 1;
  while (at < text.length) {
    const end = endOfLine(text, at);
    const content = text.slice(at, end).trimStart();
    if (content === '' || content.startsWith('#')) {
      at = end + 1;
      line += 1;
      continue;
    }
    const assignment = /^([^\s=]+)=/.exec(content);
    if (assignment === null) throw new Error(`line ${line}: expected NAME='value' without blanks before '='`);
    const [head, name = ''] = assignment;
    const value = readValue(text, end - content.length + head.length, line);
    if (name === key) return value.text;
    line += text.slice(at, value.end).split('\n').length;
    at = value.end + 1;
  }
  return undefined;
}

/** `end` is the end of the value's last line. */
function readValue(text: string, at: number, line: number): { text: string; end: number } {
  const first = text[at];
  // A blank in place of the quote leaves the variable empty, whatever follows.
  if (first === undefined || /\s/.test(first)) return { text: '', end: endOfLine(text, at) };
  if (first !== "'") throw new Error(`line ${line}: the value must stand in single quotes`);
  const close = text.indexOf("'", at + 1);
  if (close < 0) throw new Error(`line ${line}: the value has no closing quote`);
  const end = endOfLine(text, close);
  if (!/^\s*(#.*)?$/.test(text.slice(close + 1, end))) {
    throw new Error(`line ${line}: only blanks or a comment may follow the closing quote`);
  }
  return { text: text.slice(at + 1, close), end };
}

function endOfLine(text: string, at: number): number {
  const newline = text.indexOf('\n', at);
  return newline < 0 ? text.length : newline;
}
