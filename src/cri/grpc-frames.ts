/** gRPC's messages inside the bytes of an HTTP/2 stream: a flag, a length, the message. */
import { CriError } from './errors.js';

const prefixBytes = 5;

export function frameMessage(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(prefixBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, prefixBytes);
  return frame;
}

/** Gathers chunks as they come and gives the messages that are whole. */
export class MessageReader {
  readonly #limitBytes: number;
  #chunks: Buffer[] = [];
  #bufferedBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Whether a message has begun that is not whole yet. */
  get isInside(): boolean {
    return this.#bufferedBytes > 0;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.length;
  }

  /** The next whole message; fails with a CriError on one that is too large or compressed. */
  next(): Uint8Array | undefined {
    if (this.#bufferedBytes < prefixBytes) return undefined;
    let [first] = this.#chunks;
    if (first === undefined || first.length < prefixBytes) first = this.#join();
    if (first[0] !== 0) throw new CriError('Unimplemented', 'grpc: a compressed message was not asked for');
    const lengthBytes = first.readUInt32BE(1);
    if (lengthBytes > this.#limitBytes) {
      const message = `grpc: received message larger than max (${lengthBytes} vs. ${this.#limitBytes})`;
      throw new CriError('ResourceExhausted', message);
    }
    const endBytes = prefixBytes + lengthBytes;
    if (this.#bufferedBytes < endBytes) return undefined;
    if (first.length < endBytes) first = this.#join();
    const message = first.subarray(prefixBytes, endBytes);
    this.#bufferedBytes -= endBytes;
    if (first.length === endBytes) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(endBytes);
    return message;
  }

  #join(): Buffer {
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }
}
