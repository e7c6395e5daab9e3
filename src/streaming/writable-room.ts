/** Waiting for a stream that is full. */
import type { Writable } from 'node:stream';

/** Resolves when the stream takes more, or never will. */
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
