/** Matches one label of a host name to a glob. Whoever writes a pull secret chooses the glob, so its work is bounded. */

/** Several times what a label of a host name may have; a longer glob matches nothing. */
const longestGlob = 512;

type GlobPart = { readonly any: true } | { readonly any: false; readonly takes: (char: string) => boolean };

/** `*` matches any text, `?` one character, `[a-c]` one of a set, `[^a-c]` one that is not; a backslash takes the next one as it is. */
export function globMatches(glob: string, text: string): boolean {
  if (!/[*?[\\]/.test(glob)) return glob === text;
  const parts = glob.length > longestGlob ? undefined : partsOf(glob);
  return parts !== undefined && matches(parts, [...text]);
}

/** Only the last `*` is ever tried again, so the steps are at most parts × characters. */
function matches(parts: readonly GlobPart[], chars: readonly string[]): boolean {
  let [part, char] = [0, 0];
  let retry: { part: number; char: number } | undefined;
  while (char < chars.length) {
    const at = parts[part];
    if (at?.any === true) {
      retry = { part: ++part, char };
    } else if (at?.takes(chars[char] ?? '') === true) {
      part++;
      char++;
    } else if (retry === undefined) {
      return false;
    } else {
      part = retry.part;
      char = ++retry.char;
    }
  }
  return parts.slice(part).every(({ any }) => any);
}

/** Undefined for a glob that is malformed: it matches nothing. */
function partsOf(glob: string): GlobPart[] | undefined {
  const chars = [...glob];
  const parts: GlobPart[] = [];
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at] ?? '';
    if (char === '*') {
      parts.push({ any: true });
    } else if (char === '?') {
      parts.push({ any: false, takes: () => true });
    } else if (char === '[') {
      const set = setAt(chars, at + 1);
      if (set === undefined) return undefined;
      parts.push({ any: false, takes: set.takes });
      at = set.end;
    } else {
      const literal = char === '\\' ? chars[++at] : char;
      if (literal === undefined) return undefined;
      parts.push({ any: false, takes: (given) => given === literal });
    }
  }
  return parts;
}

/** The set that begins after its bracket; `end` is the place of the closing one. Undefined if it is malformed or empty. */
function setAt(
  chars: readonly string[],
  begin: number,
): { readonly takes: (char: string) => boolean; readonly end: number } | undefined {
  let at = begin;
  const isNegated = chars[at] === '^';
  if (isNegated) at++;
  const ranges: (readonly [string, string])[] = [];
  /** One character of the set, maybe escaped. */
  const next = (): string | undefined => {
    const char = chars[at];
    if (char === undefined || char === '-' || (char === ']' && ranges.length > 0)) return undefined;
    at++;
    return char === '\\' ? chars[at++] : char;
  };
  while (chars[at] !== ']' || ranges.length === 0) {
    const low = next();
    if (low === undefined) return undefined;
    if (chars[at] !== '-') {
      ranges.push([low, low]);
      continue;
    }
    at++;
    const high = next();
    if (high === undefined) return undefined;
    ranges.push([low, high]);
  }
  const takes = (char: string): boolean =>
    ranges.some(([low, high]) => char >= low && char <= high) !== isNegated;
  return { takes, end: at };
}
