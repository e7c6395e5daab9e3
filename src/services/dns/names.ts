/** Domain names on the wire: labels, compression pointers, and their limits (RFC 1035, sections 3.1 and 4.1.4). */
import { DnsFormatError, type DnsName, nameKey } from './message.js';

const longestLabelBytes = 63;
/** With the length bytes and the root. */
export const longestNameBytes = 255;
/** A pointer has 14 bits. */
const farthestPointer = 0x3fff;

/** Reads the name at `at`, and where the bytes after it begin. Labels are bytes, kept as Latin-1 text. */
export function readName(packet: Buffer, at: number): { readonly name: DnsName; readonly end: number } {
  const name: string[] = [];
  let bytes = 1;
  let next = at;
  let end: number | undefined;
  // Each pointer must lead further back than the one before, so that no chain is endless.
  let lowest = at;
  for (;;) {
    const length = byteAt(packet, next);
    if ((length & 0xc0) === 0xc0) {
      const target = ((length & 0x3f) << 8) | byteAt(packet, next + 1);
      end ??= next + 2;
      if (target >= lowest) throw new DnsFormatError('a compression pointer does not lead back');
      lowest = target;
      next = target;
      continue;
    }
    if ((length & 0xc0) !== 0) throw new DnsFormatError('a label has an unknown type');
    if (length === 0) return { name, end: end ?? next + 1 };
    bytes += length + 1;
    if (bytes > longestNameBytes) throw new DnsFormatError('a name is longer than 255 bytes');
    if (next + 1 + length > packet.length) throw new DnsFormatError('a label is cut off');
    name.push(packet.toString('latin1', next + 1, next + 1 + length));
    next += 1 + length;
  }
}

/** Where the bytes after a name begin, without reading it. */
export function skipName(packet: Buffer, at: number): number {
  for (let next = at; ; ) {
    const length = byteAt(packet, next);
    if ((length & 0xc0) === 0xc0) return next + 2;
    if ((length & 0xc0) !== 0) throw new DnsFormatError('a label has an unknown type');
    if (length === 0) return next + 1;
    next += 1 + length;
  }
}

function byteAt(packet: Buffer, at: number): number {
  const byte = packet[at];
  if (byte === undefined) throw new DnsFormatError('the message ends within a name');
  return byte;
}

/** Whether a name fits onto the wire. */
export function isWritableName(name: DnsName): boolean {
  const bytes = name.reduce((sum, label) => sum + label.length + 1, 1);
  return (
    bytes <= longestNameBytes && name.every((label) => label !== '' && label.length <= longestLabelBytes)
  );
}

/** Writes names, and refers to the ends of those that it wrote before. */
export class NameWriter {
  readonly #places = new Map<string, number>();

  /** The bytes of the name for a place in the message. */
  write(name: DnsName, at: number): Buffer {
    if (!isWritableName(name)) throw new DnsFormatError('a name does not fit onto the wire');
    const parts: Buffer[] = [];
    let place = at;
    for (let index = 0; index < name.length; index++) {
      const key = nameKey(name.slice(index));
      const known = this.#places.get(key);
      if (known !== undefined) {
        parts.push(Buffer.from([0xc0 | (known >> 8), known & 0xff]));
        return Buffer.concat(parts);
      }
      if (place <= farthestPointer) this.#places.set(key, place);
      const label = Buffer.from(name[index] ?? '', 'latin1');
      parts.push(Buffer.from([label.length]), label);
      place += 1 + label.length;
    }
    parts.push(Buffer.from([0]));
    return Buffer.concat(parts);
  }

  /** Forgets places that are no longer part of the message. */
  forgetFrom(at: number): void {
    for (const [key, place] of this.#places) if (place >= at) this.#places.delete(key);
  }
}
