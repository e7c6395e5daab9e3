/** Decodes the Huffman code of header strings in HTTP/2 (RFC 7541, appendix B). */

/** The length of each byte's code, in bits. The code is canonical, so the lengths define it. */
const bitLengths = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
  8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
  13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
  22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
  22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
  25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];
const longestBits = 30;
/** The last byte is padded with the first bits of the EOS code, which are ones: at most seven (RFC 7541, section 5.2). */
const mostPaddingBits = 7;

/** The codes of one length: the first code, the index of its byte in `order`, and how many codes follow. */
interface Length {
  readonly firstCode: number;
  readonly firstPlace: number;
  readonly count: number;
}

const order = bitLengths.map((_, byte) => byte).sort((a, b) => bitsOf(a) - bitsOf(b) || a - b);
const lengths = lengthsOf();

function bitsOf(byte: number): number {
  return bitLengths[byte] ?? longestBits;
}

function lengthsOf(): Length[] {
  const found: Length[] = [{ firstCode: 0, firstPlace: 0, count: 0 }];
  let code = 0;
  let place = 0;
  for (let bits = 1; bits <= longestBits; bits++) {
    code *= 2;
    const count = bitLengths.filter((length) => length === bits).length;
    found.push({ firstCode: code, firstPlace: place, count });
    code += count;
    place += count;
  }
  return found;
}

/** Throws for a truncated code, for padding other than ones, and for EOS inside the string (RFC 7541, section 5.2). */
export function decodeHuffman(bytes: Uint8Array): Buffer {
  const text: number[] = [];
  let code = 0;
  let bits = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + ((byte >> bit) & 1);
      bits++;
      const length = lengths[bits];
      if (length === undefined) throw new Error('received a header with an unknown Huffman code');
      const place = code - length.firstCode;
      if (place >= length.count) continue;
      text.push(order[length.firstPlace + place] ?? 0);
      code = 0;
      bits = 0;
    }
  }
  if (bits > mostPaddingBits || code !== 2 ** bits - 1)
    throw new Error('received a header that ends inside a Huffman code');
  return Buffer.from(text);
}
