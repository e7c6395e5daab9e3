/**
 * Writes the entries of a record to a bounded directory. Nobody waits for the disk: what it does not take in time ends the
 * recording, and the agent goes on.
 */
import { promisify } from 'node:util';
import { deflateRaw, deflateRawSync } from 'node:zlib';
import { asError, type Clock, systemClock, type Timer, withTimeout } from '../async/index.js';
import { recordLimits } from './limits.js';
import { type RecordDirectory, type RecordFile, recordDirectory } from './record-directory.js';
import { blockOf, fileHead, readRecordFileName, recordFileName } from './record-file.js';

/** Why a recording ended before its agent. */
export type RecordEnd = 'limit' | 'slow disk' | 'disk' | 'entry';

export interface RecordWriterOptions {
  readonly dir: string;
  /** What all files of the directory may take together. */
  readonly limitBytes: number;
  readonly clock?: Clock;
  /** Default: the directory of this machine. */
  readonly directory?: RecordDirectory;
  /** Told once when the recording ends by itself. */
  readonly onEnd: (end: RecordEnd, error?: Error) => void;
  /** Told of each block that the disk has taken. */
  readonly onWritten?: (bytes: number) => void;
}

interface RecordPart {
  readonly name: string;
  readonly generation: number;
  sizeBytes: number;
}

const pack = promisify(deflateRaw);
/** The fastest one: the cores belong to the pods. */
const level = 1;

export class RecordWriter {
  readonly #options: Required<Omit<RecordWriterOptions, 'onWritten'>> &
    Pick<RecordWriterOptions, 'onWritten'>;
  /** Lines are written to memory of their own at once: kept as texts, they would be collected again and again. */
  readonly #block = Buffer.allocUnsafeSlow(2 * recordLimits.blockBytes);
  #usedBytes = 0;
  /** Blocks that are not on the disk yet. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #files: RecordPart[] = [];
  #file: RecordFile | undefined;
  #generation = 0;
  #part = 0;
  #flush: Timer | undefined;
  /** Whether there are news among the lines. */
  #hasNews = false;
  #writing: Promise<void> | undefined;
  #isAppending = false;
  #isOver = false;
  readonly #onExit = (): void => this.#writeRest();

  constructor(options: RecordWriterOptions) {
    this.#options = { clock: systemClock, directory: recordDirectory(options.dir), ...options };
    process.on('exit', this.#onExit);
  }

  /** Takes a line without its end. News wait less long for others to be written with. */
  write(line: string, isNews = true): void {
    if (this.#isOver) return;
    if (line.length > recordLimits.entryBytes) {
      this.#end('entry');
      return;
    }
    // No character takes more than three bytes.
    const longestBytes = 3 * line.length + 1;
    if (this.#usedBytes + longestBytes > this.#block.length) this.#cut();
    if (longestBytes > this.#block.length) {
      this.#queue(Buffer.from(`${line}\n`, 'utf8'));
      return;
    }
    this.#usedBytes += this.#block.write(`${line}\n`, this.#usedBytes, 'utf8');
    if (this.#usedBytes >= recordLimits.blockBytes) this.#cut();
    else this.#cutLater(isNews);
  }

  #cutLater(isNews: boolean): void {
    if (this.#flush !== undefined && (this.#hasNews || !isNews)) return;
    this.#hasNews = isNews;
    this.#flush?.cancel();
    const delayMs = isNews ? recordLimits.blockMs : recordLimits.quietBlockMs;
    this.#flush = this.#options.clock.setTimer(delayMs, () => this.#cut());
  }

  /** Resolves when all is written, or cannot be, or after two seconds. */
  async close(): Promise<void> {
    this.#cut();
    const { clock } = this.#options;
    await withTimeout(clock, 2_000, undefined, async () => this.#writing).catch(() => undefined);
    this.#stop();
    await withTimeout(clock, 2_000, undefined, async () => this.#file?.close()).catch(() => undefined);
  }

  /** Makes a block of the lines so far. */
  #cut(): void {
    this.#flush?.cancel();
    this.#flush = undefined;
    if (this.#usedBytes > 0 && !this.#isOver) this.#queue(this.#takeLines());
  }

  #queue(lines: Buffer): void {
    this.#waiting.push(lines);
    this.#waitingBytes += lines.length;
    if (this.#waitingBytes > recordLimits.waitingBytes) {
      this.#end('slow disk');
      return;
    }
    this.#writing ??= this.#writeAll().then(
      () => {
        this.#writing = undefined;
      },
      (error: unknown) => this.#end('disk', asError(error)),
    );
  }

  #takeLines(): Buffer {
    const lines = Buffer.from(this.#block.subarray(0, this.#usedBytes));
    this.#usedBytes = 0;
    return lines;
  }

  async #writeAll(): Promise<void> {
    const { clock } = this.#options;
    if (this.#generation === 0)
      await withTimeout(clock, recordLimits.writeMs, undefined, () => this.#begin());
    for (
      let lines = this.#waiting.shift();
      lines !== undefined && !this.#isOver;
      lines = this.#waiting.shift()
    ) {
      const block = blockOf(await pack(lines, { level }), lines.length);
      await withTimeout(clock, recordLimits.writeMs, undefined, () => this.#append(block));
      this.#waitingBytes -= lines.length;
    }
  }

  /** A new generation: nothing of an earlier one is written to. */
  async #begin(): Promise<void> {
    this.#files = (await this.#options.directory.list()).flatMap(({ name, sizeBytes }) => {
      const read = readRecordFileName(name);
      return read === undefined ? [] : [{ name, sizeBytes, generation: read.generation }];
    });
    this.#files.sort((a, b) => (a.name < b.name ? -1 : 1));
    this.#generation = (this.#files.at(-1)?.generation ?? 0) + 1;
  }

  async #append(block: Buffer): Promise<void> {
    const newest = this.#files.at(-1);
    const isFull = newest !== undefined && newest.sizeBytes + block.length > recordLimits.segmentBytes;
    const isNew = this.#file === undefined || isFull;
    const bytes = isNew ? Buffer.concat([fileHead(), block]) : block;
    if (!(await this.#makeRoom(bytes.length))) {
      this.#end('limit');
      return;
    }
    if (isNew) await this.#open();
    this.#isAppending = true;
    try {
      await this.#file?.append(bytes);
    } finally {
      this.#isAppending = false;
    }
    const file = this.#files.at(-1);
    if (file !== undefined) file.sizeBytes += bytes.length;
    this.#options.onWritten?.(bytes.length);
  }

  async #open(): Promise<void> {
    await this.#file?.close();
    const name = recordFileName({ generation: this.#generation, part: ++this.#part });
    this.#file = await this.#options.directory.create(name);
    this.#files.push({ name, generation: this.#generation, sizeBytes: 0 });
  }

  /** Removes the oldest generations; false when only this one is left, of which nothing may be missing. */
  async #makeRoom(bytes: number): Promise<boolean> {
    const { directory, limitBytes } = this.#options;
    const tooMuch = (): boolean =>
      this.#files.reduce((sum, { sizeBytes }) => sum + sizeBytes, bytes) > limitBytes ||
      this.#files.length >= recordLimits.segments;
    while (tooMuch()) {
      const [oldest] = this.#files;
      if (oldest === undefined || oldest.generation === this.#generation) return false;
      // The end of a generation goes first: a generation without its beginning could not be told from a whole one.
      const ofOldest = this.#files.filter(({ generation }) => generation === oldest.generation);
      for (const { name } of ofOldest.reverse()) await directory.remove(name);
      this.#files = this.#files.filter(({ generation }) => generation !== oldest.generation);
    }
    return true;
  }

  #end(end: RecordEnd, error?: Error): void {
    if (this.#isOver) return;
    this.#stop();
    const file = this.#file;
    this.#file = undefined;
    // The disk may hang, and nobody waits for it.
    file?.close().catch(() => undefined);
    this.#options.onEnd(end, error);
  }

  #stop(): void {
    this.#isOver = true;
    this.#usedBytes = 0;
    this.#waiting = [];
    this.#flush?.cancel();
    process.off('exit', this.#onExit);
  }

  /** What led to a crash came in its last second. A disk that is at work may hang, and the end must not. */
  #writeRest(): void {
    if (this.#isAppending || this.#isOver || this.#usedBytes === 0 || this.#waiting.length > 0) return;
    const lines = this.#takeLines();
    try {
      this.#file?.appendNow(blockOf(deflateRawSync(lines, { level }), lines.length));
    } catch {
      // There is nobody left to tell.
    }
  }
}
