/** Opens files for appending, synchronously: for a process that has nothing else to do. */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { notRegular } from '../not-regular.js';
import { kindOfMode } from './stats.js';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;

/** The descriptor of a regular file, created if missing. Follows no link (ELOOP) and does not wait for a pipe's reader. */
export function openToAppendSync(path: string, mode: number): number {
  const file = openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, mode);
  try {
    const kind = kindOfMode(fstatSync(file).mode);
    if (kind !== 'file') throw notRegular(path, kind);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}
