/** Puts a prefix before each line of a stream, and lets lines of several streams through only whole. */

const newline = 0x0a;
/** A longer line is let through in parts: it must not fill the memory. */
const longestLineBytes = 64 << 10;

export class LinePrefix {
  readonly #prefix: Buffer;
  #pending = Buffer.alloc(0);
  #startsLine = true;

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

  /** The lines that this chunk completes, each behind the prefix. */
  take(chunk: Buffer): Buffer {
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const out: Buffer[] = [];
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      this.#add(out, bytes.subarray(start, end + 1));
      start = end + 1;
    }
    this.#pending = Buffer.from(bytes.subarray(start));
    if (this.#pending.length > longestLineBytes) {
      this.#add(out, this.#pending);
      this.#pending = Buffer.alloc(0);
    }
    return Buffer.concat(out);
  }

  /** The last line, which has no end. */
  rest(): Buffer {
    const out: Buffer[] = [];
    if (this.#pending.length > 0) this.#add(out, this.#pending);
    this.#pending = Buffer.alloc(0);
    return Buffer.concat(out);
  }

  #add(out: Buffer[], part: Buffer): void {
    if (this.#startsLine) out.push(this.#prefix);
    out.push(part);
    this.#startsLine = part.at(-1) === newline;
  }
}
