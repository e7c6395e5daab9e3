/** Reads the kernel log without ever blocking for the next line. */
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { KernelLog } from './oom-watcher.js';

/** Larger than any record; each read returns one. */
const recordBytes = 16 * 1024;
/** Records to read before yielding to the rest of the agent. */
const recordsPerTurn = 200;

/**
 * Reads are synchronous: they copy from the kernel's memory and never block. A blocking read in a thread
 * could not be cancelled.
 */
export function openKernelLog(path = '/dev/kmsg'): KernelLog {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const buffer = Buffer.allocUnsafe(recordBytes);
  return {
    async *records() {
      for (let count = 1; ; count++) {
        const record = readRecord(descriptor, buffer);
        if (record === undefined) return;
        if (record !== '') yield record;
        if (count % recordsPerTurn === 0) await setImmediate();
      }
    },
    close: () => closeSync(descriptor),
  };
}

/** Undefined at the end of the log, empty where records were lost. */
function readRecord(descriptor: number, buffer: Buffer): string | undefined {
  try {
    const length = readSync(descriptor, buffer);
    return length === 0 ? undefined : buffer.toString('utf8', 0, length);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EAGAIN') return undefined;
    // The kernel overwrote unread records; the next read continues after them.
    if (code === 'EPIPE') return '';
    throw error;
  }
}
