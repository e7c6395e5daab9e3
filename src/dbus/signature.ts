/** Type signatures (D-Bus Specification, "Type System"): a text such as `sba(sv)` as a tree. */
import { DbusFormatError } from './errors.js';
import { dbusLimits } from './limits.js';

export type BasicCode = 'y' | 'b' | 'n' | 'q' | 'i' | 'u' | 'x' | 't' | 'd' | 'h' | 's' | 'o' | 'g';

export type DbusType =
  | { readonly kind: 'basic'; readonly code: BasicCode }
  | { readonly kind: 'variant' }
  | { readonly kind: 'array'; readonly element: DbusType }
  /** A dict entry, too: it has the bytes of a struct with two fields. */
  | { readonly kind: 'struct'; readonly fields: readonly DbusType[] };

const basicTypes: ReadonlyMap<string, DbusType> = new Map(
  (['y', 'b', 'n', 'q', 'i', 'u', 'x', 't', 'd', 'h', 's', 'o', 'g'] as const).map((code) => [
    code,
    { kind: 'basic', code },
  ]),
);
const variant: DbusType = { kind: 'variant' };
/** The specification's bound: the length is one byte. */
const signatureChars = 255;

/** The complete types of a signature, in their order. */
export function parseSignature(signature: string): readonly DbusType[] {
  if (signature.length > signatureChars)
    throw new DbusFormatError('a signature has more than 255 characters');
  const reader = new SignatureReader(signature);
  const types: DbusType[] = [];
  while (!reader.atEnd) types.push(reader.type(0));
  return types;
}

/** As `parseSignature`, for a variant: exactly one complete type. */
export function parseSingleType(signature: string): DbusType {
  const [type, ...others] = parseSignature(signature);
  if (type === undefined || others.length > 0)
    throw new DbusFormatError(
      `the signature of a variant must be one type, not ${JSON.stringify(signature)}`,
    );
  return type;
}

/** Bytes to whose multiples the first byte of a value is moved. */
export function alignmentOf(type: DbusType): 1 | 2 | 4 | 8 {
  switch (type.kind) {
    case 'variant':
      return 1;
    case 'array':
      return 4;
    case 'struct':
      return 8;
    case 'basic':
      return basicAlignments[type.code];
  }
}

const basicAlignments: Readonly<Record<BasicCode, 1 | 2 | 4 | 8>> = {
  y: 1,
  g: 1,
  n: 2,
  q: 2,
  b: 4,
  i: 4,
  u: 4,
  h: 4,
  s: 4,
  o: 4,
  x: 8,
  t: 8,
  d: 8,
};

class SignatureReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get atEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  type(depth: number): DbusType {
    if (depth > dbusLimits.depth) throw this.#error(`nests deeper than ${dbusLimits.depth}`);
    const code = this.#text.charAt(this.#at);
    this.#at += 1;
    const basic = basicTypes.get(code);
    if (basic !== undefined) return basic;
    if (code === 'v') return variant;
    if (code === '(') return { kind: 'struct', fields: this.#fields(')', depth) };
    if (code !== 'a') throw this.#error('has a code that is no type');
    if (this.#text.charAt(this.#at) !== '{') return { kind: 'array', element: this.type(depth + 1) };
    this.#at += 1;
    const fields = this.#fields('}', depth + 1);
    if (fields.length !== 2 || fields[0]?.kind !== 'basic')
      throw this.#error('has a dict entry that is not a basic type and another type');
    return { kind: 'array', element: { kind: 'struct', fields } };
  }

  #fields(close: string, depth: number): DbusType[] {
    const fields: DbusType[] = [];
    while (this.#text.charAt(this.#at) !== close) fields.push(this.type(depth + 1));
    this.#at += 1;
    if (fields.length === 0) throw this.#error('has an empty struct');
    return fields;
  }

  #error(what: string): DbusFormatError {
    return new DbusFormatError(`the signature ${JSON.stringify(this.#text)} ${what}`);
  }
}
