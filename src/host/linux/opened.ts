/** Open files and directories, by descriptors that lead to the same file whatever happens to its name. */
import type { NewFile, OpenedDirectory, OpenedFile } from '../host.js';
import { attempt } from './linux-files.js';
import { factsOfStats } from './stats.js';
import type { OpenDirectory, SystemCalls } from './system-calls.js';

/** Entries per part of a listing. */
export const listingLimit = 256;

/** Takes ownership of the descriptor. */
export function openedFile(calls: SystemCalls, descriptor: number, path: string): OpenedFile {
  const { ifOpen, close } = closing(() => calls.close(descriptor));
  return {
    stat: () => attempt(path, async () => factsOfStats(await ifOpen(() => calls.fstat(descriptor)))),
    read: (buffer, position) => attempt(path, () => ifOpen(() => calls.read(descriptor, buffer, position))),
    close,
  };
}

/** Takes ownership of the descriptor. */
export function newFile(calls: SystemCalls, descriptor: number, path: string): NewFile {
  const { ifOpen, close } = closing(() => calls.close(descriptor));
  return {
    write: (bytes) =>
      attempt(path, async () => {
        for (let at = 0; at < bytes.length; )
          at += await ifOpen(() => calls.write(descriptor, bytes.subarray(at)));
      }),
    close,
  };
}

/** Takes ownership of the reading. */
export function openedDirectory(reading: OpenDirectory, path: string): OpenedDirectory {
  const { ifOpen, close } = closing(() => reading.close());
  return { next: () => attempt(path, () => ifOpen(() => reading.next(listingLimit))), close };
}

/** Closes once. Later calls fail: a closed descriptor's number may belong to another file. */
function closing(end: () => Promise<void>): {
  readonly ifOpen: <T>(call: () => Promise<T>) => Promise<T>;
  readonly close: () => Promise<void>;
} {
  let closed: Promise<void> | undefined;
  return {
    ifOpen: (call) => {
      if (closed !== undefined) throw Object.assign(new Error('EBADF: it was closed'), { code: 'EBADF' });
      return call();
    },
    close: () => {
      closed ??= end();
      return closed;
    },
  };
}
