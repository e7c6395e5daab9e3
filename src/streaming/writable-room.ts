/** Waits for a full stream. */
import type { Writable } from 'node:stream';

/** Resolves when the stream has room, or has ended. */
export function writableRoom(stream: Writable): Promise<void> {
  if (stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done).off('error', done);
      resolve();
    };
    stream.on('drain', done).on('close', done).on('error', done);
  });
}
