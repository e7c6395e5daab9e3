/** Puts a prefix before each line of a stream, and lets lines of several streams through only whole. */
import { ByteReader } from '../../async/index.js';

const newline = 0x0a;
/** A longer line is let through in parts: it must not fill the memory. */
const longestLineBytes = 64 << 10;

export class LinePrefix {
  readonly #prefix: Buffer;
  /** Of a line that has not ended. */
  readonly #pending = new ByteReader();
  #startsLine = true;

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

  /** The lines that this chunk completes, each behind the prefix. */
  take(chunk: Buffer): Buffer {
    const out: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      this.#pending.push(chunk.subarray(start, end + 1));
      this.#add(out, this.#pending.takeAll());
      start = end + 1;
    }
    if (start < chunk.length) this.#pending.push(Buffer.from(chunk.subarray(start)));
    if (this.#pending.length > longestLineBytes) this.#add(out, this.#pending.takeAll());
    return Buffer.concat(out);
  }

  /** The last line, which has no end. */
  rest(): Buffer {
    const out: Buffer[] = [];
    if (this.#pending.length > 0) this.#add(out, this.#pending.takeAll());
    return Buffer.concat(out);
  }

  #add(out: Buffer[], part: Buffer): void {
    if (this.#startsLine) out.push(this.#prefix);
    out.push(part);
    this.#startsLine = part.at(-1) === newline;
  }
}
