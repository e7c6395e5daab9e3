/** Where file systems are mounted, as the kernel tells this process. */
import { readFile } from 'node:fs/promises';
import { isMissing } from '../logs/file-error.js';

/** Empty where the kernel tells nothing of its mounts. */
export async function readMountPoints(path = '/proc/self/mountinfo'): Promise<ReadonlySet<string>> {
  try {
    return parseMountPoints(await readFile(path, 'utf8'));
  } catch (error) {
    if (isMissing(error)) return new Set();
    throw error;
  }
}

/** The fifth field of each line; blanks and backslashes in it are written as octal numbers. */
export function parseMountPoints(mountinfo: string): ReadonlySet<string> {
  const points = new Set<string>();
  for (const line of mountinfo.split('\n')) {
    const point = line.split(' ')[4];
    if (point === undefined) continue;
    points.add(
      point.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
    );
  }
  return points;
}
