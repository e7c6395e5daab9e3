/** Cuts a stream into messages: each is preceded by its length in two bytes (RFC 1035, section 4.2.2). */
import { DnsFormatError } from './message.js';

export class MessageReader {
  readonly #limitBytes: number;
  #held: Buffer = Buffer.alloc(0);

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** The messages that are complete with these bytes; throws `DnsFormatError` for one that is too long. */
  read(chunk: Buffer): Buffer[] {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const messages: Buffer[] = [];
    let at = 0;
    while (bytes.length - at >= 2) {
      const length = bytes.readUInt16BE(at);
      if (length > this.#limitBytes)
        throw new DnsFormatError(`a message has more than ${this.#limitBytes} bytes`);
      if (bytes.length - at - 2 < length) break;
      messages.push(bytes.subarray(at + 2, at + 2 + length));
      at += 2 + length;
    }
    // A copy, so that a whole chunk is not kept for the few bytes at its end.
    this.#held = Buffer.from(bytes.subarray(at));
    return messages;
  }
}
