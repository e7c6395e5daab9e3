/** A connection whose peer may hang up while it is still being sent to: what it said before is read all the same. */
import { Socket } from 'node:net';

/**
 * A runtime that ends a command closes the connection with the rest of the input unread, and the next
 * write to it fails. An ordinary socket is torn down by that, with the command's last output and its
 * status still waiting to be read; this one drops what can no longer be written and reads on. The end,
 * which always follows, tells the rest.
 */
export class ReadAfterResetSocket extends Socket {
  override _write(
    chunk: Buffer | string,
    encoding: BufferEncoding,
    done: (error?: Error | null) => void,
  ): void {
    super._write(chunk, encoding, () => done());
  }

  override _writev(
    chunks: { chunk: Buffer | string; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    super._writev?.(chunks, () => done());
  }
}
