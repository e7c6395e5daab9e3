/** Moves an unusable file out of the way, so that it can be inspected and a new one can take its place. */
import { basename, dirname, join } from 'node:path';
import type { HostFiles } from '../host.js';
import { removeEntry } from './replace-file.js';

const mark = '.corrupt-';
/** How many to keep per file, and per directory; the newest stay. */
const keptOfFile = 3;
const keptOfDirectory = 16;

export function isSetAside(name: string): boolean {
  return name.includes(mark);
}

/** Returns the new path; undefined if the file could not be moved. */
export async function setAside(files: HostFiles, path: string, nowMs: number): Promise<string | undefined> {
  const directory = dirname(path);
  // No colons: some file systems refuse them. Sorting by name sorts by time.
  const stamp = new Date(nowMs).toISOString().replace(/[-:]/g, '');
  const moved = `${path}${mark}${stamp}`;
  try {
    await files.rename(path, moved);
  } catch {
    // If the disk refuses, the next write reports it; the unusable file is reported in any case.
    return undefined;
  }
  // One too many does no harm; the next call tries again.
  await removeOldest(files, directory, basename(path)).catch(() => undefined);
  return moved;
}

async function removeOldest(files: HostFiles, directory: string, name: string): Promise<void> {
  const aside = (await files.readdir(directory)).filter(isSetAside);
  const byAge = aside.sort((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1));
  const own = byAge.filter((other) => other.startsWith(`${name}${mark}`));
  const surplus = new Set([...own.slice(0, -keptOfFile), ...byAge.slice(0, -keptOfDirectory)]);
  for (const old of surplus) await removeEntry(files, join(directory, old));
}

function timeOf(name: string): string {
  return name.slice(name.lastIndexOf(mark) + mark.length);
}
