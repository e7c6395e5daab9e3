/**
 * HPACK, the form of headers in HTTP/2, without the dynamic table: we add nothing to it, and our first SETTINGS frame
 * gives the other side's a size of 0 (RFC 7541, section 4.2). Every block stands for itself, and equal blocks are equal
 * headers. Sections are those of RFC 7541.
 */
import { decodeHuffman } from './huffman.js';

/** By lower-case name; of headers that come twice the last. */
export type Headers = Readonly<Record<string, string>>;

/** The static table, from index 1 on: names, and values where there is one (appendix A). */
const staticTable: readonly (readonly [name: string, value?: string])[] = [
  [':authority'],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  ...['200', '204', '206', '304', '400', '404', '500'].map((status) => [':status', status] as const),
  ['accept-charset'],
  ['accept-encoding', 'gzip, deflate'],
  ['accept-language'],
  ['accept-ranges'],
  ['accept'],
  ['access-control-allow-origin'],
  ['age'],
  ['allow'],
  ['authorization'],
  ['cache-control'],
  ['content-disposition'],
  ['content-encoding'],
  ['content-language'],
  ['content-length'],
  ['content-location'],
  ['content-range'],
  ['content-type'],
  ['cookie'],
  ['date'],
  ['etag'],
  ['expect'],
  ['expires'],
  ['from'],
  ['host'],
  ['if-match'],
  ['if-modified-since'],
  ['if-none-match'],
  ['if-range'],
  ['if-unmodified-since'],
  ['last-modified'],
  ['link'],
  ['location'],
  ['max-forwards'],
  ['proxy-authenticate'],
  ['proxy-authorization'],
  ['range'],
  ['referer'],
  ['refresh'],
  ['retry-after'],
  ['server'],
  ['set-cookie'],
  ['strict-transport-security'],
  ['transfer-encoding'],
  ['user-agent'],
  ['vary'],
  ['via'],
  ['www-authenticate'],
];

/** An integer with a prefix of some bits; the other bits of the first byte are `flags` (section 5.1). */
function encodeInteger(value: number, prefixBits: number, flags = 0): number[] {
  const most = 2 ** prefixBits - 1;
  if (value < most) return [flags | value];
  const bytes = [flags | most];
  let rest = value - most;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
  return bytes;
}

/** A string literal, without Huffman code (section 5.2). */
function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([Buffer.from(encodeInteger(bytes.length, 7)), bytes]);
}

/** Each header in full. Pseudo-headers must come first (RFC 9113, section 8.3). */
export function encodeHeaders(headers: Headers): Buffer {
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => {
      // An indexed field (section 6.1), else a literal without indexing, its name from the table or not (section 6.2.2).
      const whole = staticTable.findIndex(([known, its]) => known === name && its === value) + 1;
      if (whole > 0) return [Buffer.from(encodeInteger(whole, 7, 0x80))];
      const index = staticTable.findIndex(([known]) => known === name) + 1;
      const named = Buffer.from(encodeInteger(index, 4));
      return index > 0 ? [named, encodeText(value)] : [named, encodeText(name), encodeText(value)];
    }),
  );
}

/** Fails on a block that is broken, or that names an entry of the dynamic table, which is empty. */
export function decodeHeaders(block: Uint8Array): Headers {
  const reader = new BlockReader(block);
  const headers: Record<string, string> = {};
  while (!reader.isAtEnd) {
    const first = reader.peek();
    if ((first & 0x80) !== 0) {
      // An indexed field (section 6.1).
      const [name, value = ''] = entry(reader.integer(7));
      headers[name] = value;
    } else if ((first & 0xe0) === 0x20) {
      // A dynamic table size update (section 6.3): the table stays empty.
      reader.integer(5);
    } else {
      // A literal with incremental indexing (section 6.2.1), without it (6.2.2) or never indexed (6.2.3).
      const index = reader.integer((first & 0xc0) === 0x40 ? 6 : 4);
      const name = index === 0 ? reader.text() : entry(index)[0];
      headers[name] = reader.text();
    }
  }
  return headers;
}

/** Index 0 and indexes beyond both tables are decoding errors (sections 2.3.3 and 6.1). */
function entry(index: number): readonly [name: string, value?: string] {
  const found = staticTable[index - 1];
  if (found === undefined) throw new Error(`there is no header ${index}`);
  return found;
}

class BlockReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  peek(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new Error('a block of headers is cut off');
    return byte;
  }

  /** Integers beyond what an implementation takes are decoding errors (section 5.1). */
  integer(prefixBits: number): number {
    const most = 2 ** prefixBits - 1;
    let value = this.#next() & most;
    if (value < most) return value;
    for (let factor = 1; ; factor *= 128) {
      if (factor > 2 ** 28) throw new Error('a number in a block of headers is too large');
      const byte = this.#next();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  text(): string {
    const isHuffman = (this.peek() & 0x80) !== 0;
    const length = this.integer(7);
    const bytes = this.#bytes.subarray(this.#at, this.#at + length);
    if (bytes.length < length) throw new Error('a block of headers is cut off');
    this.#at += length;
    return (isHuffman ? decodeHuffman(bytes) : Buffer.from(bytes)).toString('latin1');
  }

  #next(): number {
    const byte = this.peek();
    this.#at++;
    return byte;
  }
}
