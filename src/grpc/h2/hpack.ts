/**
 * HPACK, the header compression of HTTP/2, without the dynamic table. Our encoder adds no entry, and our first SETTINGS
 * frame limits the server's table to 0 bytes (section 4.2; RFC 9113, section 6.5.2). So every block can be decoded by
 * itself, and equal blocks have equal headers. Sections are those of RFC 7541.
 */
import { decodeHuffman } from './huffman.js';

/** Headers by lower-case name; the last one wins when a name repeats. */
export type Headers = Readonly<Record<string, string>>;

/** The static table, from index 1: each name, with a value where it has one (appendix A). */
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

/** An integer with a prefix of `prefixBits`; `flags` are the other bits of the first byte (section 5.1). */
function encodeInteger(value: number, prefixBits: number, flags = 0): number[] {
  const most = 2 ** prefixBits - 1;
  if (value < most) return [flags | value];
  const bytes = [flags | most];
  let rest = value - most;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
  return bytes;
}

/** A string literal without Huffman coding (section 5.2). */
function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([Buffer.from(encodeInteger(bytes.length, 7)), bytes]);
}

/** Callers must list pseudo-headers first (RFC 9113, section 8.3). */
export function encodeHeaders(headers: Headers): Buffer {
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => {
      // An indexed field (section 6.1), or a literal without indexing whose name may be indexed (section 6.2.2).
      const whole = staticTable.findIndex(([known, its]) => known === name && its === value) + 1;
      if (whole > 0) return [Buffer.from(encodeInteger(whole, 7, 0x80))];
      const index = staticTable.findIndex(([known]) => known === name) + 1;
      const named = Buffer.from(encodeInteger(index, 4));
      return index > 0 ? [named, encodeText(value)] : [named, encodeText(name), encodeText(value)];
    }),
  );
}

/** Throws for a malformed block, and for an index into the dynamic table, which is empty. */
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
      // A dynamic table size update (section 6.3). The table stays empty.
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

/** An index of 0 (section 6.1) or beyond both tables (section 2.3.3) is a decoding error. */
function entry(index: number): readonly [name: string, value?: string] {
  const found = staticTable[index - 1];
  if (found === undefined) throw new Error(`received header index ${index}, which is in no table`);
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
    if (byte === undefined) throw new Error('received a truncated header block');
    return byte;
  }

  /** An integer above the limit of the implementation is a decoding error (section 5.1). */
  integer(prefixBits: number): number {
    const most = 2 ** prefixBits - 1;
    let value = this.#next() & most;
    if (value < most) return value;
    for (let factor = 1; ; factor *= 128) {
      if (factor > 2 ** 28) throw new Error('received an integer in a header block that is too large');
      const byte = this.#next();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  text(): string {
    const isHuffman = (this.peek() & 0x80) !== 0;
    const length = this.integer(7);
    const bytes = this.#bytes.subarray(this.#at, this.#at + length);
    if (bytes.length < length) throw new Error('received a truncated header block');
    this.#at += length;
    return (isHuffman ? decodeHuffman(bytes) : Buffer.from(bytes)).toString('latin1');
  }

  #next(): number {
    const byte = this.peek();
    this.#at++;
    return byte;
  }
}
