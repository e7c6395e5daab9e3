/**
 * The protocol between the agent and a supervisor while a client is attached: the agent first sends a line of
 * JSON with its request, then the container's raw input; the supervisor sends output in frames of stream
 * number, length and bytes. Closing the agent's side ends the input, closing the socket detaches.
 */
import { ByteReader } from '../../async/index.js';
import type { OutputStream } from './container-log-writer.js';

export const attachSocketName = 'attach.sock';

export interface AttachWish {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

const headBytes = 5;
/** A supervisor forwards at most what one read of a pipe returned. */
const longestFrameBytes = 1024 * 1024;
const longestWishBytes = 1024;
const newline = 0x0a;
const streamNumber: Readonly<Record<OutputStream, number>> = { stdout: 1, stderr: 2 };

export function outputFrame(stream: OutputStream, bytes: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + bytes.length);
  frame.writeUInt8(streamNumber[stream], 0);
  frame.writeUInt32BE(bytes.length, 1);
  bytes.copy(frame, headBytes);
  return frame;
}

export interface OutputPart {
  readonly stream: OutputStream;
  readonly bytes: Buffer;
}

/** Parses a supervisor's frames into output. */
export class OutputFrameReader {
  readonly #bytes = new ByteReader();
  /** The head of an incomplete frame. */
  #head: { readonly stream: OutputStream; readonly size: number } | undefined;

  /** Throws on anything that no supervisor sends. */
  *read(chunk: Buffer): Generator<OutputPart, void, undefined> {
    this.#bytes.push(chunk);
    for (;;) {
      this.#head ??= this.#nextHead();
      if (this.#head === undefined) return;
      const { stream, size } = this.#head;
      const bytes = this.#bytes.take(size);
      if (bytes === undefined) return;
      this.#head = undefined;
      yield { stream, bytes };
    }
  }

  #nextHead(): { readonly stream: OutputStream; readonly size: number } | undefined {
    const head = this.#bytes.take(headBytes);
    if (head === undefined) return undefined;
    const number = head.readUInt8(0);
    const size = head.readUInt32BE(1);
    if ((number !== 1 && number !== 2) || size > longestFrameBytes) {
      throw new Error('the supervisor of the container speaks an unknown protocol');
    }
    return { stream: number === 1 ? 'stdout' : 'stderr', size };
  }
}

export function formatWish(wish: AttachWish): string {
  return `${JSON.stringify(wish)}\n`;
}

/** The request at the start of what the agent sent, and the rest; undefined: incomplete. */
export function parseWish(bytes: Buffer): { readonly wish: AttachWish; readonly rest: Buffer } | undefined {
  const end = bytes.indexOf(newline);
  if (end < 0) {
    if (bytes.length > longestWishBytes) throw new Error('the agent sent no request line');
    return undefined;
  }
  const fields: unknown = JSON.parse(bytes.toString('utf8', 0, end));
  const wants = (name: string): boolean =>
    // Any object can be read as a record of unknown values.
    typeof fields === 'object' && fields !== null && (fields as Record<string, unknown>)[name] === true;
  return {
    wish: { stdin: wants('stdin'), stdout: wants('stdout'), stderr: wants('stderr') },
    rest: bytes.subarray(end + 1),
  };
}
