/** Writes a container's log file: `<RFC 3339 time> <stream> <tag> <content>`, one record a line. */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { formatNanoTimestamp } from '../../kube/goformat.js';
import { LogLines } from './log-lines.js';

/** Has room for the longest record. */
const batchBytes = 64 * 1024;
const newline = 0x0a;

export type OutputStream = 'stdout' | 'stderr';

/**
 * Writes synchronously: a slow disk then slows the container down through its pipe, and nothing
 * piles up in memory. What cannot be written is counted and dropped, for a full disk must not end
 * the container.
 */
export class LogWriter {
  readonly #path: string;
  readonly #stamp: () => bigint;
  readonly #lines = { stdout: new LogLines(), stderr: new LogLines() };
  /** Records that are on their way into the file, always the same memory. */
  readonly #batch = Buffer.allocUnsafe(batchBytes);
  #filled = 0;
  #records = 0;
  #file: number | undefined;
  #lost = 0;

  /** An empty path drops everything. */
  constructor(path: string, stamp: () => bigint) {
    this.#path = path;
    this.#stamp = stamp;
  }

  /** Records that could not be written. */
  get lostRecords(): number {
    return this.#lost;
  }

  /** Opens the file by its path; again after a rotation has moved the one that was open. */
  open(): void {
    if (this.#path === '') return;
    mkdirSync(dirname(this.#path), { recursive: true });
    const file = openSync(this.#path, 'a', 0o644);
    this.close();
    this.#file = file;
  }

  write(stream: OutputStream, chunk: Buffer): void {
    this.#record(stream, this.#lines[stream].add(chunk));
  }

  end(stream: OutputStream): void {
    this.#record(stream, this.#lines[stream].end());
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** All records of a chunk came at the same time. */
  #record(stream: OutputStream, lines: ReturnType<LogLines['add']>): void {
    if (this.#path === '') return;
    const time = formatNanoTimestamp(this.#stamp());
    for (const { tag, content } of lines) {
      const head = `${time} ${stream} ${tag} `;
      if (this.#filled + head.length + content.length + 1 > this.#batch.length) this.#flush();
      this.#filled += this.#batch.write(head, this.#filled, 'latin1');
      this.#filled += content.copy(this.#batch, this.#filled);
      this.#filled = this.#batch.writeUInt8(newline, this.#filled);
      this.#records++;
    }
    this.#flush();
  }

  #flush(): void {
    if (!this.#append(this.#batch.subarray(0, this.#filled))) this.#lost += this.#records;
    this.#filled = 0;
    this.#records = 0;
  }

  #append(bytes: Buffer): boolean {
    if (bytes.length === 0) return true;
    if (this.#file === undefined) return false;
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
      return true;
    } catch {
      return false;
    }
  }
}
