/** Writes a container's log file: `<RFC 3339 time> <stream> <tag> <content>`, one record a line. */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { formatNanoTimestamp } from '../../kube/goformat.js';
import { LogLines } from './log-lines.js';

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

  #record(stream: OutputStream, lines: ReturnType<LogLines['add']>): void {
    const records: Buffer[] = [];
    let count = 0;
    for (const { tag, content } of lines) {
      records.push(Buffer.from(`${formatNanoTimestamp(this.#stamp())} ${stream} ${tag} `), content, lineEnd);
      count++;
    }
    if (count === 0 || this.#path === '') return;
    if (!this.#append(Buffer.concat(records))) this.#lost += count;
  }

  #append(bytes: Buffer): boolean {
    if (this.#file === undefined) return false;
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
      return true;
    } catch {
      return false;
    }
  }
}

const lineEnd = Buffer.from('\n');
