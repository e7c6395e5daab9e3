/** Moves a file that cannot be used out of the way, so that it can be looked at and a new one can take its place. */
import { basename, dirname, join } from 'node:path';
import type { HostFiles } from '../host.js';
import { removeEntry } from './replace-file.js';

const mark = '.corrupt-';
/** The newest ones of one file, and of all files of a directory, are kept. */
const keptOfFile = 3;
const keptOfDirectory = 16;

export function isSetAside(name: string): boolean {
  return name.includes(mark);
}

/** Returns the new path; undefined when it could not be moved and stays where it is. */
export async function setAside(files: HostFiles, path: string, nowMs: number): Promise<string | undefined> {
  const directory = dirname(path);
  // Without colons, which other file systems refuse; sorted by name is sorted by time.
  const stamp = new Date(nowMs).toISOString().replace(/[-:]/g, '');
  const moved = `${path}${mark}${stamp}`;
  try {
    await files.rename(path, moved);
  } catch {
    // A disk that refuses this is told of by the next write; what was found is told of in any case.
    return undefined;
  }
  // One too many is no harm, and the next one that is set aside tries again.
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
