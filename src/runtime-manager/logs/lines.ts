/** Reads a growing file line by line, as bytes. */
import type { OpenedFile } from '../../host/index.js';

const newline = 0x0a;
const chunkBytes = 64 * 1024;
/** Far more than runtimes write in one record; a longer line is no record and must not fill the memory. */
const longestLineBytes = 4 * 1024 * 1024;

/** Cuts chunks of bytes into lines. */
export class LineSplitter {
  /** The part read so far of an unfinished line. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #skipping = false;

  /** The lines that the chunk completes, with their newlines. They share its memory. */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = this.#complete(chunk.subarray(start, end + 1));
      if (line !== undefined) lines.push(line);
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  /** The last line, if it has no newline yet. */
  unterminated(): Buffer | undefined {
    return this.#pendingBytes === 0 ? undefined : Buffer.concat(this.#pending);
  }

  #complete(end: Buffer): Buffer | undefined {
    if (this.#skipping) {
      this.#skipping = false;
      return undefined;
    }
    if (this.#pendingBytes === 0) return end;
    const line = Buffer.concat([...this.#pending, end]);
    this.#pending = [];
    this.#pendingBytes = 0;
    return line;
  }

  #keep(rest: Buffer): void {
    if (rest.length === 0 || this.#skipping) return;
    this.#pending.push(rest);
    this.#pendingBytes += rest.length;
    if (this.#pendingBytes <= longestLineBytes) return;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#skipping = true;
  }
}

export class LineReader {
  readonly #file: OpenedFile;
  readonly #buffer = Buffer.alloc(chunkBytes);
  readonly #splitter = new LineSplitter();
  #position: number;

  constructor(file: OpenedFile, position: number) {
    this.#file = file;
    this.#position = position;
  }

  /** The next lines with their newlines, several at once; undefined at the current end of the file. */
  async next(): Promise<Buffer[] | undefined> {
    const bytesRead = await this.#file.read(this.#buffer, this.#position);
    if (bytesRead === 0) return undefined;
    this.#position += bytesRead;
    // Callers keep the lines, so they must not share the buffer of the next read.
    return this.#splitter.push(Buffer.from(this.#buffer.subarray(0, bytesRead)));
  }

  /** The last line, if it has no newline yet. */
  unterminated(): Buffer | undefined {
    return this.#splitter.unterminated();
  }
}
