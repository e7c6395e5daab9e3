/**
 * What goes over the socket between the agent and a supervisor while somebody is attached to a
 * container: first a line of JSON from the agent that says what it wants, then the container's input
 * as it is; the other way, output in frames of stream number, length and bytes. The agent closing its
 * side means the end of the input, closing the socket means that nobody is attached any more.
 */
import { ByteReader } from '../../async/index.js';
import type { OutputStream } from './log-writer.js';

export const attachSocketName = 'attach.sock';

export interface AttachWish {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

const headBytes = 5;
/** A supervisor hands on what one read of a pipe gave. */
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

/** Cuts what comes from a supervisor into the output it stands for. */
export class OutputFrameReader {
  readonly #bytes = new ByteReader();
  /** The head of a frame whose bytes have not all come yet. */
  #head: { readonly stream: OutputStream; readonly size: number } | undefined;

  /** Throws for what no supervisor sends. */
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
      throw new Error('the supervisor of the container does not speak the language of this agent');
    }
    return { stream: number === 1 ? 'stdout' : 'stderr', size };
  }
}

export function formatWish(wish: AttachWish): string {
  return `${JSON.stringify(wish)}\n`;
}

/** The wish at the beginning of what the agent sent, and what came after it; undefined: not all of it is there. */
export function parseWish(bytes: Buffer): { readonly wish: AttachWish; readonly rest: Buffer } | undefined {
  const end = bytes.indexOf(newline);
  if (end < 0) {
    if (bytes.length > longestWishBytes) throw new Error('no line in what the agent sent');
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
