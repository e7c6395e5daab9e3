/** Expands `$(NAME)` in commands, arguments and environment values. */

/** A piece of text: literal, or a variable's name with the text to use if it is unknown. */
export type Segment = string | { readonly name: string; readonly literal: string };

/** `$$` is an escaped `$`; a `$` before anything but `(`, and an unclosed `$(`, are literal. */
export function parseReferences(text: string): Segment[] {
  const segments: Segment[] = [];
  let plain = '';
  let at = 0;
  while (at < text.length) {
    const dollar = text.indexOf('$', at);
    if (dollar < 0) break;
    plain += text.slice(at, dollar);
    const next = text[dollar + 1];
    const close = next === '(' ? text.indexOf(')', dollar + 2) : -1;
    if (close >= 0) {
      if (plain !== '') segments.push(plain);
      plain = '';
      segments.push({ name: text.slice(dollar + 2, close), literal: text.slice(dollar, close + 1) });
      at = close + 1;
    } else if (next === '$') {
      plain += '$';
      at = dollar + 2;
    } else {
      plain += '$';
      at = dollar + 1;
    }
  }
  plain += text.slice(at);
  if (plain !== '') segments.push(plain);
  return segments;
}

/** Replaces known names; unknown ones stay as written, and results are not expanded again. */
export function expand(text: string, lookup: (name: string) => string | undefined): string {
  return parseReferences(text)
    .map((segment) => (typeof segment === 'string' ? segment : (lookup(segment.name) ?? segment.literal)))
    .join('');
}
