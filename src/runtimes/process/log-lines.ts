/** Cuts the output of a container into the records of the CRI log format. */

export interface LogLine {
  /** `F`: the line ends here. `P`: it goes on in the next record. */
  readonly tag: 'F' | 'P';
  readonly content: Buffer;
}

/** The longest content of a record; longer lines are written in parts. */
export const longestRecordBytes = 16 * 1024;

const newline = 0x0a;
const nothing: Buffer = Buffer.alloc(0);

/** The records of one stream; it never holds more than one record's content besides the chunk it is given. */
export class LogLines {
  #rest: Buffer = nothing;

  *add(chunk: Buffer): Generator<LogLine, void, undefined> {
    let text = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let end = text.indexOf(newline); end >= 0; end = text.indexOf(newline)) {
      let line = text.subarray(0, end);
      for (; line.length > longestRecordBytes; line = line.subarray(longestRecordBytes)) {
        yield { tag: 'P', content: line.subarray(0, longestRecordBytes) };
      }
      yield { tag: 'F', content: line };
      text = text.subarray(end + 1);
    }
    for (; text.length > longestRecordBytes; text = text.subarray(longestRecordBytes)) {
      yield { tag: 'P', content: text.subarray(0, longestRecordBytes) };
    }
    // A copy, so that the rest of a line does not hold on to the whole chunk.
    this.#rest = text.length === 0 ? nothing : Buffer.from(text);
  }

  /** What is left when the output ends without a newline. */
  *end(): Generator<LogLine, void, undefined> {
    const rest = this.#rest;
    this.#rest = nothing;
    if (rest.length > 0) yield { tag: 'F', content: rest };
  }
}
