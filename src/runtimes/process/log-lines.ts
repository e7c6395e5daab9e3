/** Splits a container's output into records of the CRI log format. */
import { ByteReader } from '../../async/index.js';

export interface LogLine {
  /** `F`: the line ends here. `P`: it continues in the next record. */
  readonly tag: 'F' | 'P';
  readonly content: Buffer;
}

/** The longest content of a record; longer lines are split. */
export const longestRecordBytes = 16 * 1024;

const newline = 0x0a;
const nothing: Buffer = Buffer.alloc(0);

/** The records of one stream; buffers at most one record's content besides the current chunk. */
export class LogLines {
  /** The incomplete record. */
  readonly #begun = new ByteReader();

  *add(chunk: Buffer): Generator<LogLine, void, undefined> {
    for (let rest = chunk; rest.length > 0; ) {
      const end = rest.indexOf(newline);
      let line = end < 0 ? rest : rest.subarray(0, end);
      rest = end < 0 ? nothing : rest.subarray(end + 1);
      while (this.#begun.length + line.length > longestRecordBytes) {
        const roomBytes = longestRecordBytes - this.#begun.length;
        yield { tag: 'P', content: this.#whole(line.subarray(0, roomBytes)) };
        line = line.subarray(roomBytes);
      }
      if (end >= 0) yield { tag: 'F', content: this.#whole(line) };
      // A copy, so that the rest of a line does not keep the whole chunk alive.
      else this.#begun.push(Buffer.from(line));
    }
  }

  /** The rest when the output ends without a newline. */
  *end(): Generator<LogLine, void, undefined> {
    const content = this.#begun.takeAll();
    if (content.length > 0) yield { tag: 'F', content };
  }

  #whole(end: Buffer): Buffer {
    if (this.#begun.length === 0) return end;
    this.#begun.push(end);
    return this.#begun.takeAll();
  }
}
