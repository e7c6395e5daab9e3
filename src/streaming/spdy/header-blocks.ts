/**
 * Writes and reads the header blocks of SPDY: names and values, in one zlib stream for each direction of a connection.
 * Sections are those of the SPDY protocol, draft 3.1 (2.6.10 and 2.6.10.1).
 */
import { constants, createInflate, type Inflate } from 'node:zlib';
import { spdyLimits } from '../limits.js';
import { spdyDictionary, spdyDictionaryAdler32 } from './dictionary.js';
import { SpdyProtocolError } from './frames.js';

export type SpdyHeaders = ReadonlyMap<string, string>;

/** Headers that a request must not have (section 3.2.1). */
const forbidden = new Set(['connection', 'host', 'keep-alive', 'proxy-connection', 'transfer-encoding']);
/** The longest stored block (RFC 1951, section 3.2.4). */
const longestStoredBytes = 0xffff;
/** An empty stored block, the end of a zlib sync flush. Go's reader returns no data before it. */
const syncMarker = Buffer.from([0, 0, 0, 0xff, 0xff]);

/**
 * Writes the zlib stream of one connection as stored blocks (RFC 1951, section 3.2.4). Our headers take a few dozen
 * bytes; a compressor would take 256 KiB of memory for each connection.
 */
export class HeaderBlockWriter {
  #begun = false;

  /** Names must be in lower case (section 2.6.10). */
  write(headers: SpdyHeaders): Buffer {
    const plain = encodeHeaders(headers);
    const parts: Buffer[] = [];
    if (!this.#begun) {
      // CMF, FLG with FDICT, and the checksum of the dictionary (RFC 1950, section 2.2).
      const head = Buffer.from([0x78, 0xf9, 0, 0, 0, 0]);
      head.writeUInt32BE(spdyDictionaryAdler32, 2);
      parts.push(head);
      this.#begun = true;
    }
    for (let at = 0; at < plain.length; at += longestStoredBytes) {
      const part = plain.subarray(at, at + longestStoredBytes);
      const head = Buffer.alloc(5);
      head.writeUInt16LE(part.length, 1);
      head.writeUInt16LE(part.length ^ 0xffff, 3);
      parts.push(head, part);
    }
    return Buffer.concat([...parts, syncMarker]);
  }
}

/** Reads the zlib stream of one connection, one block at a time. */
export class HeaderBlockReader {
  readonly #inflate: Inflate = createInflate({ dictionary: spdyDictionary, flush: constants.Z_SYNC_FLUSH });
  #chunks: Buffer[] = [];
  #sizeBytes = 0;
  #problem: Error | undefined;

  constructor() {
    this.#inflate.on('error', (error) => {
      this.#problem ??= new SpdyProtocolError(`received an invalid header block: ${error.message}`, {
        cause: error,
      });
    });
    this.#inflate.on('data', (chunk: Buffer) => {
      this.#sizeBytes += chunk.length;
      if (this.#sizeBytes <= spdyLimits.headerBlockBytes) this.#chunks.push(chunk);
      else {
        this.#problem ??= new SpdyProtocolError(
          `received a header block of more than ${spdyLimits.headerBlockBytes} bytes`,
        );
        this.#inflate.destroy(this.#problem);
      }
    });
  }

  /** Rejects with `SpdyProtocolError`; the reader is unusable after that. Calls must not overlap. */
  async read(block: Buffer): Promise<SpdyHeaders> {
    if (this.#problem === undefined) await this.#feed(block);
    if (this.#problem !== undefined) throw this.#problem;
    const plain = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#sizeBytes = 0;
    return decodeHeaders(plain);
  }

  close(): void {
    this.#problem ??= new SpdyProtocolError('the connection is closed');
    this.#inflate.destroy();
  }

  #feed(block: Buffer): Promise<void> {
    return new Promise((resolve) => {
      // A destroyed stream does not call back.
      this.#inflate.once('close', resolve);
      this.#inflate.write(block, () => {
        this.#inflate.off('close', resolve);
        // Flushes inflated bytes that were not emitted yet.
        while (this.#inflate.read() !== null);
        resolve();
      });
    });
  }
}

export function encodeHeaders(headers: SpdyHeaders): Buffer {
  const parts = [length(headers.size)];
  for (const [name, value] of headers) {
    for (const text of [name, value]) {
      const bytes = Buffer.from(text);
      parts.push(length(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

export function decodeHeaders(plain: Buffer): SpdyHeaders {
  let at = 0;
  const number = (): number => {
    if (at + 4 > plain.length) throw new SpdyProtocolError('received a header block that is too short');
    at += 4;
    return plain.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const size = number();
    if (at + size > plain.length) throw new SpdyProtocolError('received a header block that is too short');
    at += size;
    return plain.toString('utf8', at - size, at);
  };
  const count = number();
  if (count > spdyLimits.headers)
    throw new SpdyProtocolError(`received ${count} headers; the maximum is ${spdyLimits.headers}`);
  const headers = new Map<string, string>();
  for (let index = 0; index < count; index++) {
    const name = text();
    const value = text();
    if (name === '' || name !== name.toLowerCase() || headers.has(name) || forbidden.has(name)) {
      throw new SpdyProtocolError(
        `received an invalid or repeated header: ${JSON.stringify(name.slice(0, 100))}`,
      );
    }
    headers.set(name, value);
  }
  return headers;
}

function length(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
