/**
 * The timeline's copy on disk: bounded, written as things happen, so that it is there after a crash. `docs/timeline.md`
 * describes the format.
 */
import { writeSync } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, systemClock, type Timer, withTimeout } from '../async/index.js';
import type { TimelineEntry } from './entry.js';
import type { TimelineReader } from './timeline.js';

/** The file that entries are appended to. */
export interface RingFile {
  readonly sizeBytes: number;
  /** Appends all of it or nothing. */
  append(text: string): Promise<void>;
  /** The same for the last moment of a process, in which nothing can be waited for. */
  appendNow(text: string): void;
  close(): Promise<void>;
}

/** The directory of the ring. */
export interface RingDirectory {
  /** Makes the directory and the file if they are not there. */
  open(name: string): Promise<RingFile>;
  rename(from: string, to: string): Promise<void>;
}

export interface DiskRingOptions {
  readonly dir: string;
  /** Both files together stay below this. */
  readonly maxBytes?: number;
  readonly clock?: Clock;
  /** The disk; `dir` of this machine if none is given. */
  readonly directory?: RingDirectory;
  /** Told once when writing begins to fail. It is tried again with growing pauses. */
  readonly onError: (error: unknown) => void;
  /** Told when the disk takes entries again, with how many were lost meanwhile. */
  readonly onRecovered?: (lostEntries: number) => void;
}

/** Of the format. Each line carries it, as one file may hold lines of an older and a newer agent. */
const version = 1;
const newest = 'entries.jsonl';
const older = 'entries.1.jsonl';
const defaultMaxBytes = 8 * 1024 * 1024;
/** Entries that wait for the disk at most, by number and by characters. */
const maxHeld = 4096;
const maxHeldChars = 2 * 1024 * 1024;
const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

export interface DiskRing {
  readonly reader: TimelineReader;
  /** Resolves when the entries so far are written, or cannot be, or after two seconds. */
  close(): Promise<void>;
}

/** Writes go on beside everything else, one at a time: a disk that hangs stops only this. */
export function openDiskRing(options: DiskRingOptions): DiskRing {
  const ring = new RingWriter(options);
  return {
    reader: (entry) => {
      if (entry.level !== 'debug' && entry.level !== 'trace') ring.add(formatLine(entry));
    },
    close: () => ring.close(),
  };
}

class RingWriter {
  readonly #options: Required<DiskRingOptions>;
  #held: string[] = [];
  #heldChars = 0;
  #lost = 0;
  #file: RingFile | undefined;
  #sizeBytes = 0;
  #writing: Promise<void> | undefined;
  #retry: Timer | undefined;
  #retryMs = firstRetryMs;
  #isFailing = false;
  #isAppending = false;
  #isClosed = false;
  readonly #onExit = (): void => this.#writeRest();

  constructor(options: DiskRingOptions) {
    this.#options = {
      maxBytes: defaultMaxBytes,
      clock: systemClock,
      directory: diskDirectory(options.dir),
      onRecovered: () => {},
      ...options,
    };
    process.on('exit', this.#onExit);
    this.#start();
  }

  add(line: string): void {
    if (this.#isClosed) return;
    this.#held.push(line);
    this.#heldChars += line.length;
    this.#makeRoom();
    this.#start();
  }

  async close(): Promise<void> {
    const { clock } = this.#options;
    // Once more, whatever the back-off says; a disk that hangs is left alone.
    this.#cancelRetry();
    this.#start();
    await withTimeout(clock, 2_000, undefined, () => this.#writing ?? Promise.resolve()).catch(() => {});
    this.#isClosed = true;
    this.#cancelRetry();
    process.off('exit', this.#onExit);
    await withTimeout(clock, 2_000, undefined, async () => this.#file?.close()).catch(() => {});
  }

  /** What led to a crash was said in its last turn. A disk that is at work may hang, and the end must not. */
  #writeRest(): void {
    if (this.#isAppending || this.#isFailing || this.#held.length === 0) return;
    try {
      this.#file?.appendNow(this.#held.join(''));
    } catch {
      // There is nobody left to tell.
    }
  }

  #start(): void {
    if (this.#writing !== undefined || this.#retry !== undefined || this.#isClosed) return;
    this.#writing = this.#writeAll().then(
      () => this.#wrote(),
      (error: unknown) => this.#failed(error),
    );
  }

  /** What came in one turn of the event loop is one write. */
  async #writeAll(): Promise<void> {
    const { directory, maxBytes } = this.#options;
    do {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#file === undefined) {
        this.#file = await directory.open(newest);
        this.#sizeBytes = this.#file.sizeBytes;
      }
      const lines = this.#held.splice(0, this.#countThatFits());
      if (lines.length === 0) return;
      const text = lines.join('');
      this.#heldChars -= text.length;
      try {
        this.#isAppending = true;
        await this.#file.append(text);
      } catch (error) {
        this.#held.unshift(...lines);
        this.#heldChars += text.length;
        this.#makeRoom();
        throw error;
      } finally {
        this.#isAppending = false;
      }
      this.#sizeBytes += Buffer.byteLength(text);
      if (this.#sizeBytes >= maxBytes / 2) {
        await this.#file.close();
        this.#file = undefined;
        await directory.rename(newest, older);
      }
    } while (this.#held.length > 0);
  }

  /** How many of the lines fill the file up. */
  #countThatFits(): number {
    const roomChars = this.#options.maxBytes / 2 - this.#sizeBytes;
    let chars = 0;
    const last = this.#held.findIndex((line) => {
      chars += line.length;
      return chars >= roomChars;
    });
    return last < 0 ? this.#held.length : last + 1;
  }

  #makeRoom(): void {
    let surplus = 0;
    while (this.#held.length - surplus > maxHeld || this.#heldChars > maxHeldChars) {
      this.#heldChars -= this.#held[surplus]?.length ?? 0;
      surplus++;
    }
    if (surplus > 0) this.#held.splice(0, surplus);
    this.#lost += surplus;
  }

  #wrote(): void {
    this.#writing = undefined;
    this.#retryMs = firstRetryMs;
    const lost = this.#lost;
    const hadFailed = this.#isFailing;
    this.#lost = 0;
    this.#isFailing = false;
    if (hadFailed || lost > 0) this.#options.onRecovered(lost);
    if (this.#held.length > 0) this.#start();
  }

  #failed(error: unknown): void {
    this.#writing = undefined;
    // Whatever became of the file, the next try opens it anew.
    const file = this.#file;
    this.#file = undefined;
    file?.close().catch(() => {});
    if (!this.#isClosed) {
      this.#retry = this.#options.clock.setTimer(this.#retryMs, () => {
        this.#retry = undefined;
        this.#start();
      });
      this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
    }
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.onError(error);
  }

  #cancelRetry(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
  }
}

function diskDirectory(dir: string): RingDirectory {
  return {
    open: async (name) => {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      // For reading, too: then even a pipe in its place is opened at once, and told by what it is.
      const file = await open(path.join(dir, name), 'a+', 0o600);
      try {
        return await ringFile(file, path.join(dir, name));
      } catch (error) {
        await file.close();
        throw error;
      }
    },
    rename: (from, to) => rename(path.join(dir, from), path.join(dir, to)),
  };
}

async function ringFile(file: FileHandle, name: string): Promise<RingFile> {
  const facts = await file.stat();
  if (!facts.isFile()) throw new Error(`${name} is no file`);
  let size = facts.size;
  const last = Buffer.alloc(1);
  if (size > 0) await file.read(last, 0, 1, size - 1);
  // What a crash cut off must not spoil the line that follows it.
  let start = size > 0 && last.toString() !== '\n' ? '\n' : '';
  const sized = (text: string): Buffer => Buffer.from(start + text);
  return {
    sizeBytes: size,
    async append(text) {
      const bytes = sized(text);
      try {
        for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
      } catch (error) {
        // A part of it would be there twice when it is tried again.
        await file.truncate(size).catch(() => {});
        throw error;
      }
      start = '';
      size += bytes.length;
    },
    appendNow: (text) => void writeSync(file.fd, sized(text)),
    close: () => file.close(),
  };
}

export interface StoredEntries {
  /** Oldest first. */
  readonly entries: readonly TimelineEntry[];
  /** Lines that are no entries of this version: written by another version, or cut short by a crash. */
  readonly skipped: number;
}

export async function readDiskRing(dir: string): Promise<StoredEntries> {
  const entries: TimelineEntry[] = [];
  let skipped = 0;
  for (const name of [older, newest]) {
    const text = await readFile(path.join(dir, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const entry = parseLine(line);
      if (entry === undefined) skipped++;
      else entries.push(entry);
    }
  }
  return { entries, skipped };
}

/** The version is put into the text, which saves a copy of the entry. */
function formatLine(entry: TimelineEntry): string {
  return `{"v":${version},${JSON.stringify(entry).slice(1)}\n`;
}

function parseLine(line: string): TimelineEntry | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed !== 'object' || parsed === null || !('v' in parsed)) return undefined;
    const { v, ...entry } = parsed;
    // Only this module writes lines of this version, and it writes entries.
    return v === version ? (entry as TimelineEntry) : undefined;
  } catch {
    return undefined;
  }
}
