/** Writes DER, the encoding of certificates and certificate requests; only what those need. */

/** One encoded value. */
export type Der = Buffer;

function tagged(tag: number, content: Buffer): Der {
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const digits: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return Buffer.from([0x80 + digits.length, ...digits]);
}

export function sequence(...members: readonly Der[]): Der {
  return tagged(0x30, Buffer.concat(members));
}

/** DER sorts the members of a set by their bytes. */
export function setOf(...members: readonly Der[]): Der {
  return tagged(0x31, Buffer.concat([...members].sort(Buffer.compare)));
}

/** A non-negative number, most significant byte first. */
export function integer(bytes: Buffer): Der {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const rest = bytes.subarray(start);
  const negative = rest.length > 0 && (rest.readUInt8(0) & 0x80) !== 0;
  return tagged(0x02, negative || rest.length === 0 ? Buffer.concat([Buffer.from([0]), rest]) : rest);
}

export function smallInteger(value: number): Der {
  return integer(Buffer.from([value]));
}

export function boolean(value: boolean): Der {
  return tagged(0x01, Buffer.from([value ? 0xff : 0]));
}

export function nullValue(): Der {
  return tagged(0x05, Buffer.alloc(0));
}

export function oid(dotted: string): Der {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const digits = [part % 128];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128)) {
      digits.unshift((left % 128) + 128);
    }
    bytes.push(...digits);
  }
  return tagged(0x06, Buffer.from(bytes));
}

export function utf8String(text: string): Der {
  return tagged(0x0c, Buffer.from(text, 'utf8'));
}

export function octetString(content: Buffer): Der {
  return tagged(0x04, content);
}

export function bitString(content: Buffer, unusedBits = 0): Der {
  return tagged(0x03, Buffer.concat([Buffer.from([unusedBits]), content]));
}

/** Two-digit years until 2049 and four-digit years after, as RFC 5280 requires. */
export function time(epochMs: number): Der {
  const digits = new Date(epochMs)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:T]/g, '');
  const short = Number(digits.slice(0, 4)) < 2050;
  return short ? tagged(0x17, Buffer.from(digits.slice(2))) : tagged(0x18, Buffer.from(digits));
}

/** `[n]` wrapped around a whole value. */
export function explicit(number: number, content: Der): Der {
  return tagged(0xa0 + number, content);
}

/** `[n]` in place of a simple value's tag. */
export function implicit(number: number, content: Buffer): Der {
  return tagged(0x80 + number, content);
}

export function pem(label: string, der: Der): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
