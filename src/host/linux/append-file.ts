/** Opens files to append to, by calls that block: for a process that does nothing else meanwhile. */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { notRegular } from '../not-regular.js';
import { kindOfMode } from './stats.js';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;

/** The descriptor of a regular file, made where there is none. Follows no link (ELOOP), and waits for no reader of a pipe. */
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
