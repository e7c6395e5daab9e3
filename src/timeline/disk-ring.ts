/** The timeline's copy on disk: bounded, written as things happen, so that it is there after a crash. */
import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Entry } from './entry.js';
import type { Reader } from './timeline.js';

export interface DiskRingOptions {
  readonly dir: string;
  /** Both files together stay below this. */
  readonly maxBytes?: number;
  /** Told once when writing fails; nothing is written any more then. */
  readonly onError: (error: unknown) => void;
}

const newest = 'entries.jsonl';
const older = 'entries.1.jsonl';
const defaultMaxBytes = 8 * 1024 * 1024;
/** Entries that wait for the end of a turn at most. */
const maxHeld = 16;

export interface DiskRing {
  readonly reader: Reader;
  close(): void;
}

export function openDiskRing({ dir, maxBytes = defaultMaxBytes, onError }: DiskRingOptions): DiskRing {
  let file: number | undefined;
  let sizeBytes = 0;
  let held: string[] = [];
  const open = (): number => {
    const opened = openSync(path.join(dir, newest), 'a', 0o600);
    sizeBytes = fstatSync(opened).size;
    return opened;
  };
  const close = (): void => {
    if (file !== undefined) closeSync(file);
    file = undefined;
  };
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      close();
      onError(error);
    }
  };
  const flush = (): void =>
    attempt(() => {
      const text = held.join('');
      held = [];
      if (file === undefined || text === '') return;
      writeSync(file, text);
      sizeBytes += Buffer.byteLength(text);
      if (sizeBytes < maxBytes / 2) return;
      close();
      renameSync(path.join(dir, newest), path.join(dir, older));
      file = open();
    });
  attempt(() => {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    file = open();
  });
  return {
    close() {
      flush();
      close();
    },
    reader(entry) {
      if (file === undefined || entry.level === 'debug' || entry.level === 'trace') return;
      held.push(`${JSON.stringify(entry)}\n`);
      // Written in the same turn of the event loop: what the kernel has been given survives this process.
      if (held.length === 1) setImmediate(flush);
      else if (held.length >= maxHeld) flush();
    },
  };
}

/** The entries on disk, oldest first. A line that a crash cut short is left out. */
export async function readDiskRing(dir: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (const name of [older, newest]) {
    const text = await readFile(path.join(dir, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    for (const line of text.split('\n')) {
      const entry = parseLine(line);
      if (entry !== undefined) entries.push(entry);
    }
  }
  return entries;
}

function parseLine(line: string): Entry | undefined {
  if (line === '') return undefined;
  try {
    // Only this module writes these files, and it writes entries.
    return JSON.parse(line) as Entry;
  } catch {
    return undefined;
  }
}
