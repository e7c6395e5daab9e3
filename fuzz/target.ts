/** What a fuzz target is: a parser, texts that it understands, and what it may do with texts that it does not. */

export interface Target {
  readonly name: string;
  /** Inputs that the parser takes; all others are made of these. */
  readonly seeds: readonly Buffer[];
  /** Words and bytes that mean something to the parser. */
  readonly words?: readonly (string | Buffer)[];
  /** The longest input; 8 KiB. */
  readonly maxBytes?: number;
  /** The longest input that is one word again and again, as few of which are tried; 32 KiB. */
  readonly floodBytes?: number;
  /** Whether this is how the parser refuses an input. Default: an `Error` that is none of the language's own kinds. */
  readonly refuses?: (error: unknown) => boolean;
  /** Parses the input and checks what must hold for any; throws `PropertyFailed` when it does not. */
  run(input: Buffer): void | Promise<void>;
  /** Releases what the target opened. */
  close?(): Promise<void>;
}

/** The parser took the input, and what it made of it is wrong. */
export class PropertyFailed extends Error {
  override readonly name = 'PropertyFailed';
}

export function holds(condition: boolean, property: string): asserts condition {
  if (!condition) throw new PropertyFailed(property);
}

/** What JavaScript throws when code is wrong; a parser that refuses an input throws something of its own. */
const languageErrors = [TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError];

export function isRefusal(target: Target, error: unknown): boolean {
  if (error instanceof PropertyFailed) return false;
  if (target.refuses !== undefined) return target.refuses(error);
  return error instanceof Error && !languageErrors.some((kind) => error instanceof kind);
}

/** For parsers that give undefined, or something empty, for what they do not understand. */
export const never = (): boolean => false;

/** For parsers whose refusals are of these classes and no others. */
export function only(...kinds: readonly (abstract new (...args: never[]) => Error)[]) {
  return (error: unknown): boolean => kinds.some((kind) => error instanceof kind);
}

export function texts(...seeds: readonly string[]): Buffer[] {
  return seeds.map((seed) => Buffer.from(seed));
}

/** The input in pieces whose sizes the input itself decides, so that they are the same each time. */
export function chunksOf(input: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < input.length; ) {
    const size = 1 + ((input[at] ?? 0) % 7) * ((input[input.length - 1 - at] ?? 0) % 5);
    chunks.push(input.subarray(at, at + size));
    at += size;
  }
  return chunks;
}
