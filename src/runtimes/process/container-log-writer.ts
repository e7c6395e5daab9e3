/** Writes a container's log file: `<RFC 3339 time> <stream> <tag> <content>`, one record per line. */
import { closeSync, fstatSync, ftruncateSync, mkdirSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { openToAppendSync } from '../../host/linux/append-file.js';
import { formatNanoTimestamp } from '../../kube/values/go-format.js';
import { LogLines } from './log-lines.js';

/** Fits the longest record. */
const batchBytes = 64 * 1024;
const newline = 0x0a;
const nothing: Buffer = Buffer.alloc(0);

export type OutputStream = 'stdout' | 'stderr';

export interface ContainerLogFiles {
  readonly open: (path: string, mode: number) => number;
  /** Writes the bytes from `at` on; returns how many were written. */
  readonly write: (file: number, bytes: Buffer, at: number) => number;
}

const realFiles: ContainerLogFiles = { open: openToAppendSync, write: writeSync };

/**
 * Writes synchronously: a slow disk then slows the container down through its pipe, and nothing piles up in
 * memory. What cannot be written is counted and dropped, since a full disk must not end the container; the
 * log says so once it can be written again.
 */
export class ContainerLogWriter {
  readonly #path: string;
  readonly #files: ContainerLogFiles;
  readonly #stamp: () => bigint;
  readonly #lines = { stdout: new LogLines(), stderr: new LogLines() };
  /** Records on their way into the file, in the same reused memory. */
  readonly #batch = Buffer.allocUnsafe(batchBytes);
  #filled = 0;
  #file: number | undefined;
  #lost = 0;
  /** Losses that the log has not reported yet. */
  #untold: { records: number; bytes: number; cause: string } | undefined;
  /** Whether the file ends with a partial record that could not be removed. */
  #endsCut = false;

  /** An empty path drops everything. */
  constructor(path: string, stamp: () => bigint, files: Partial<ContainerLogFiles> = {}) {
    this.#path = path;
    this.#files = { ...realFiles, ...files };
    this.#stamp = stamp;
  }

  /** Records that could not be written. */
  get lostRecords(): number {
    return this.#lost;
  }

  /** Opens the file by its path; again after a rotation moved the open one. */
  open(): void {
    if (this.#path === '') return;
    mkdirSync(dirname(this.#path), { recursive: true });
    const file = this.#files.open(this.#path, 0o644);
    this.#close();
    this.#file = file;
    if (fstatSync(file).size === 0) this.#endsCut = false;
  }

  write(stream: OutputStream, chunk: Buffer): void {
    this.#record(stream, this.#lines[stream].add(chunk));
  }

  end(stream: OutputStream): void {
    this.#record(stream, this.#lines[stream].end());
  }

  close(): void {
    if (this.#file !== undefined && this.#untold !== undefined) {
      const notice = this.#notice();
      if (this.#append(notice) === notice.length) this.#told();
    }
    this.#close();
  }

  #close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** All records of a chunk get the same time. */
  #record(stream: OutputStream, lines: ReturnType<LogLines['add']>): void {
    if (this.#path === '') return;
    const time = formatNanoTimestamp(this.#stamp());
    for (const { tag, content } of lines) {
      const head = `${time} ${stream} ${tag} `;
      if (this.#filled + head.length + content.length + 1 > this.#batch.length) this.#flush();
      this.#filled += this.#batch.write(head, this.#filled, 'latin1');
      this.#filled += content.copy(this.#batch, this.#filled);
      this.#filled = this.#batch.writeUInt8(newline, this.#filled);
    }
    this.#flush();
  }

  #flush(): void {
    const records = this.#batch.subarray(0, this.#filled);
    this.#filled = 0;
    if (records.length === 0) return;
    if (this.#untold === undefined) {
      const kept = this.#append(records);
      if (kept < records.length) this.#drop(records.subarray(kept));
      return;
    }
    // Written together, so that a disk with room for the notice alone is not filled with notices.
    const all = Buffer.concat([this.#notice(), records]);
    const kept = this.#append(all);
    if (kept === all.length) {
      this.#told();
    } else {
      this.#takeBack(kept);
      this.#drop(records);
    }
  }

  /** Returns how many bytes are in the file now; always whole records. */
  #append(bytes: Buffer): number {
    let written = 0;
    try {
      if (this.#file === undefined) throw new Error('the log is not open');
      while (written < bytes.length) written += this.#files.write(this.#file, bytes, written);
      return written;
    } catch (error) {
      const cause = causeOf(error);
      this.#untold = { records: 0, bytes: 0, ...this.#untold, cause };
      const whole = bytes.subarray(0, written).lastIndexOf(newline) + 1;
      this.#takeBack(written - whole);
      return whole;
    }
  }

  /** A partial record would be read as a whole one, or as the beginning of the next. */
  #takeBack(bytes: number): void {
    if (bytes === 0 || this.#file === undefined) return;
    try {
      ftruncateSync(this.#file, fstatSync(this.#file).size - bytes);
    } catch {
      this.#endsCut = true;
    }
  }

  #drop(records: Buffer): void {
    let count = 0;
    for (const byte of records) if (byte === newline) count++;
    this.#lost += count;
    const { records: before = 0, bytes = 0, cause = '' } = this.#untold ?? {};
    this.#untold = { records: before + count, bytes: bytes + records.length, cause };
  }

  #notice(): Buffer {
    if (this.#untold === undefined) return nothing;
    const { records, bytes, cause } = this.#untold;
    const time = formatNanoTimestamp(this.#stamp());
    const text = `nodelet: ${records} records (${bytes} bytes) of this log were lost here: ${cause}`;
    return Buffer.from(`${this.#endsCut ? '\n' : ''}${time} stderr F ${text}\n`);
  }

  #told(): void {
    this.#untold = undefined;
    this.#endsCut = false;
  }
}

function causeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error) return String(error.code);
  return error instanceof Error ? error.message : String(error);
}
