/** The kernel's log of this machine, read without ever waiting in the kernel for a next line. */
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { KernelLog } from './oom-watcher.js';

/** Larger than any record, of which each read gives one. */
const recordBytes = 16 * 1024;
/** After so many records the rest of the agent gets its turn. */
const recordsPerTurn = 200;

/**
 * Reads are synchronous: they copy from the kernel's memory and never block, and a read in a thread could not be
 * called back on a device that blocks.
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

/** Undefined at the end of what was logged, empty where records were lost. */
function readRecord(descriptor: number, buffer: Buffer): string | undefined {
  try {
    const length = readSync(descriptor, buffer);
    return length === 0 ? undefined : buffer.toString('utf8', 0, length);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EAGAIN') return undefined;
    // The kernel wrote over records that were not read yet; the next read goes on after them.
    if (code === 'EPIPE') return '';
    throw error;
  }
}
