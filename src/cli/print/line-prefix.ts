/** Prefixes each line of a stream. Emits whole lines, so that the lines of several streams do not mix. */
import { ByteReader } from '../../async/index.js';

const newline = 0x0a;
/** A longer line is emitted in parts, to bound the memory. */
const longestLineBytes = 64 << 10;

export class LinePrefix {
  readonly #prefix: Buffer;
  /** The start of an incomplete line. */
  readonly #pending = new ByteReader();
  #startsLine = true;

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

  /** Returns the lines that this chunk completes, with their prefix. */
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

  /** Returns the last line, which lacks its newline. */
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
