/** A socket that still reads what its peer sent after a write to the peer has failed. */
import { Socket } from 'node:net';

/**
 * A runtime that ends a command closes the connection with the rest of the input unread, and the next write fails. That
 * destroys an ordinary socket while the last output and the status of the command are still unread. This one drops what
 * cannot be written and reads on until the peer's end.
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
