/** Quotes a text the way labels and annotations are written for containers to read. */

const escapes: ReadonlyMap<string, string> = new Map([
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['\\', '\\\\'],
  ['"', '\\"'],
]);

/** A Go string literal: printable characters as they are, the rest escaped. */
export function goQuote(text: string): string {
  let quoted = '"';
  for (const character of text) {
    quoted +=
      escapes.get(character) ??
      (/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character) ? character : hex(character));
  }
  return `${quoted}"`;
}

function hex(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  // Half of a surrogate pair is no character; Unicode has one that stands for such.
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, '0')}`;
  return `\\U${code.toString(16).padStart(8, '0')}`;
}
