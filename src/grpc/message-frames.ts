/** Writes and reads Length-Prefixed-Message, the framing of messages in a stream (gRPC over HTTP/2, Requests). */
import { ByteReader } from '../async/index.js';
import { GrpcError } from './errors.js';

/** Compressed-Flag (1 byte) and Message-Length (4 bytes, big endian). */
const prefixBytes = 5;

export function frameMessage(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(prefixBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, prefixBytes);
  return frame;
}

/** Collects chunks and returns complete messages. DATA frames may split a message anywhere (gRPC over HTTP/2, Data Frames). */
export class GrpcMessageReader {
  readonly #limitBytes: number;
  readonly #bytes = new ByteReader();
  /** The length of the message whose prefix was read. */
  #lengthBytes: number | undefined;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Whether a message has begun and is not complete yet. */
  get isInside(): boolean {
    return this.#lengthBytes !== undefined || this.#bytes.length > 0;
  }

  push(chunk: Buffer): void {
    this.#bytes.push(chunk);
  }

  /** The next complete message. Throws a GrpcError when it is too large or compressed. */
  next(): Uint8Array | undefined {
    this.#lengthBytes ??= this.#nextLength();
    if (this.#lengthBytes === undefined) return undefined;
    const message = this.#bytes.take(this.#lengthBytes);
    if (message !== undefined) this.#lengthBytes = undefined;
    return message;
  }

  #nextLength(): number | undefined {
    const prefix = this.#bytes.take(prefixBytes);
    if (prefix === undefined) return undefined;
    // Compressed-Flag must be 0 without a Message-Encoding, and the client offers none (gRPC over HTTP/2, Requests).
    if (prefix[0] !== 0)
      throw new GrpcError('Unimplemented', 'grpc: received a compressed message without grpc-encoding');
    const lengthBytes = prefix.readUInt32BE(1);
    if (lengthBytes > this.#limitBytes) {
      const message = `grpc: received message larger than max (${lengthBytes} vs. ${this.#limitBytes})`;
      throw new GrpcError('ResourceExhausted', message);
    }
    return lengthBytes;
  }
}
