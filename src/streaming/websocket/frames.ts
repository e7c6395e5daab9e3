/** Writes WebSocket frames, and reads them into parts of messages. Sections are those of RFC 6455. */
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { TextDecoder } from 'node:util';
import { ByteReader } from '../../async/index.js';
import { webSocketLimits } from '../limits.js';

const nothing: Buffer = Buffer.alloc(0);

/** Sections 5.2 and 11.8. */
export const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Section 7.4.1. */
export const CloseCode = { normal: 1000, protocolError: 1002, invalidText: 1007, tooBig: 1009 } as const;

export type WebSocketEvent =
  | MessagePart
  | { readonly kind: 'ping'; readonly data: Buffer }
  | { readonly kind: 'pong'; readonly data: Buffer }
  | { readonly kind: 'close'; readonly code: number | undefined };

/** A part of a message. Parts do not depend on the fragments of the sender. */
export interface MessagePart {
  readonly kind: 'message';
  readonly binary: boolean;
  readonly data: Buffer;
  readonly first: boolean;
  readonly last: boolean;
}

/** The peer violated the protocol. The connection is closed with the code. */
export class WebSocketError extends Error {
  override readonly name = 'WebSocketError';
  readonly code: number;

  constructor(message: string, code: number = CloseCode.protocolError) {
    super(message);
    this.code = code;
  }
}

/** A client must mask its frames, a server must not (section 5.1). */
export function encodeFrame(opcode: number, data: Buffer, { fin = true, mask = false } = {}): Buffer[] {
  // The length takes 7, 7+16 or 7+64 bits; the shortest form is required (section 5.2).
  const long = data.length > 0xffff;
  const medium = !long && data.length > 125;
  const head = Buffer.alloc(2 + (long ? 8 : medium ? 2 : 0) + (mask ? 4 : 0));
  head.writeUInt8((fin ? 0x80 : 0) | opcode, 0);
  head.writeUInt8((mask ? 0x80 : 0) | (long ? 127 : medium ? 126 : data.length), 1);
  if (long) head.writeBigUInt64BE(BigInt(data.length), 2);
  else if (medium) head.writeUInt16BE(data.length, 2);
  if (!mask) return [head, data];
  const key = randomBytes(4);
  key.copy(head, head.length - 4);
  return [head, masked(data, key)];
}

export function closePayload(code: number): Buffer {
  const data = Buffer.allocUnsafe(2);
  data.writeUInt16BE(code);
  return data;
}

interface WebSocketFrame {
  readonly fin: boolean;
  readonly opcode: number;
  readonly lengthBytes: number;
  /** The masking key, as one number. */
  readonly key: number | undefined;
  /** How much of the payload was read. */
  readBytes: number;
}

interface Message {
  readonly binary: boolean;
  /** The payload lengths of all its frame headers so far. */
  announcedBytes: number;
  /** Whether the next part is the first one. */
  first: boolean;
  /** Checks that a text is UTF-8, across its parts; undefined for binary messages. */
  readonly decoder: TextDecoder | undefined;
}

/**
 * Reads frames and returns messages in parts. It buffers at most one part, so a message takes the same memory in one
 * frame, in a million fragments, and byte by byte.
 */
export class WebSocketFrameReader {
  readonly #fromClient: boolean;
  readonly #bytes = new ByteReader();
  /** The first two bytes of a frame header, as one number, while the rest is missing. */
  #start: number | undefined;
  #frame: WebSocketFrame | undefined;
  #message: Message | undefined;
  /** The bytes of the next part. */
  #part: Buffer = nothing;
  #partBytes = 0;

  constructor({ fromClient }: { readonly fromClient: boolean }) {
    this.#fromClient = fromClient;
  }

  /** Throws `WebSocketError` for an invalid frame. */
  *read(chunk: Buffer): Generator<WebSocketEvent, void, undefined> {
    this.#bytes.push(chunk);
    for (;;) {
      this.#frame ??= this.#nextFrame();
      const frame = this.#frame;
      if (frame === undefined) return;
      if (frame.opcode >= Opcode.close) {
        const data = this.#bytes.take(frame.lengthBytes);
        if (data === undefined) return;
        const plain = Buffer.alloc(data.length);
        unmask(data, frame, plain, 0);
        yield controlOf(frame.opcode, plain);
      } else {
        const part = this.#nextPart(frame);
        if (part !== undefined) yield part;
        if (frame.readBytes < frame.lengthBytes) {
          if (this.#bytes.length === 0) return;
          continue;
        }
      }
      this.#frame = undefined;
    }
  }

  /** Collects the available bytes. Returns the part when it is full or the last of its message. */
  #nextPart(frame: WebSocketFrame): MessagePart | undefined {
    const message = this.#message;
    if (message === undefined) return undefined;
    const roomBytes = webSocketLimits.messagePartBytes - this.#partBytes;
    this.#collect(this.#bytes.takeSome(Math.min(frame.lengthBytes - frame.readBytes, roomBytes)), frame);
    const last = frame.fin && frame.readBytes === frame.lengthBytes;
    if (!last && this.#partBytes < webSocketLimits.messagePartBytes) return undefined;
    const { binary, first } = message;
    message.first = false;
    if (last) this.#message = undefined;
    const data = this.#part.subarray(0, this.#partBytes);
    checkText(message.decoder, data, last);
    this.#part = nothing;
    this.#partBytes = 0;
    return { kind: 'message', binary, data, first, last };
  }

  #collect(data: Buffer, frame: WebSocketFrame): void {
    const neededBytes = this.#partBytes + data.length;
    if (neededBytes > this.#part.length) {
      // A frame that arrived complete needs no spare room.
      const more = this.#partBytes === 0 ? 1 : 2;
      const grown = Buffer.allocUnsafeSlow(Math.min(webSocketLimits.messagePartBytes, more * neededBytes));
      this.#part.copy(grown, 0, 0, this.#partBytes);
      this.#part = grown;
    }
    unmask(data, frame, this.#part, this.#partBytes);
    frame.readBytes += data.length;
    this.#partBytes = neededBytes;
  }

  #nextFrame(): WebSocketFrame | undefined {
    this.#start ??= this.#bytes.take(2)?.readUInt16BE(0);
    const start = this.#start;
    if (start === undefined) return undefined;
    // The reserved bits belong to extensions, and none is negotiated (section 5.2).
    if ((start & 0x7000) !== 0) throw new WebSocketError('received a frame with reserved bits set');
    const short = start & 0x7f;
    const longerBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
    const hasMask = (start & 0x80) !== 0;
    const rest = this.#bytes.take(longerBytes + (hasMask ? 4 : 0));
    if (rest === undefined) return undefined;
    this.#start = undefined;
    const frame: WebSocketFrame = {
      fin: (start & 0x8000) !== 0,
      opcode: (start >> 8) & 0x0f,
      lengthBytes:
        longerBytes === 0
          ? short
          : longerBytes === 2
            ? rest.readUInt16BE(0)
            : Number(rest.readBigUInt64BE(0)),
      key: hasMask ? rest.readUInt32BE(longerBytes) : undefined,
      readBytes: 0,
    };
    this.#check(frame);
    return frame;
  }

  #check({ fin, opcode, lengthBytes, key }: WebSocketFrame): void {
    if ((key !== undefined) !== this.#fromClient) {
      throw new WebSocketError(this.#fromClient ? 'received an unmasked frame' : 'received a masked frame');
    }
    if (opcode >= Opcode.close) {
      if (opcode > Opcode.pong)
        throw new WebSocketError(`received a frame with the unknown opcode ${opcode}`);
      // A control frame is short and not fragmented; it may come between fragments (section 5.5).
      if (!fin || lengthBytes > webSocketLimits.controlBytes) {
        throw new WebSocketError('received a control frame that is fragmented or too long');
      }
      return;
    }
    if (opcode > Opcode.binary)
      throw new WebSocketError(`received a frame with the unknown opcode ${opcode}`);
    // A message is a text or binary frame, then continuation frames until FIN (section 5.4).
    if ((opcode === Opcode.continuation) !== (this.#message !== undefined)) {
      throw new WebSocketError('received a data frame out of order');
    }
    const message = this.#message ?? newMessage(opcode === Opcode.binary);
    message.announcedBytes += lengthBytes;
    if (message.announcedBytes > webSocketLimits.messageBytes) {
      throw new WebSocketError(
        `received a message of more than ${webSocketLimits.messageBytes} bytes`,
        CloseCode.tooBig,
      );
    }
    this.#message = message;
  }
}

function controlOf(opcode: number, data: Buffer): WebSocketEvent {
  switch (opcode) {
    case Opcode.ping:
      return { kind: 'ping', data };
    case Opcode.pong:
      return { kind: 'pong', data };
    default:
      return { kind: 'close', code: closeCodeOf(data) };
  }
}

function newMessage(binary: boolean): Message {
  const decoder = binary ? undefined : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return { binary, announcedBytes: 0, first: true, decoder };
}

/** A text that is not UTF-8 fails the connection (section 8.1). */
function checkText(decoder: TextDecoder | undefined, data: Buffer, last: boolean): void {
  try {
    decoder?.decode(data, { stream: !last });
  } catch {
    throw new WebSocketError('received a text that is not UTF-8', CloseCode.invalidText);
  }
}

/** A close frame is empty, or has a code and a reason in UTF-8 (section 5.5.1). */
function closeCodeOf(data: Buffer): number | undefined {
  if (data.length === 0) return undefined;
  if (data.length === 1) throw new WebSocketError('received a close frame of one byte');
  const code = data.readUInt16BE(0);
  if (!maySendCloseCode(code)) throw new WebSocketError(`received a close frame with the code ${code}`);
  if (!isUtf8(data.subarray(2)))
    throw new WebSocketError('received a close frame whose reason is not UTF-8', CloseCode.invalidText);
  return code;
}

/** The codes that may be sent: those of the protocol but the reserved ones (section 7.4.1), and 3000 to 4999 (7.4.2). */
function maySendCloseCode(code: number): boolean {
  if (code >= 3000) return code <= 4999;
  return code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006;
}

/** Unmasks the next bytes of a frame (section 5.3). */
function unmask(data: Buffer, { key, readBytes }: WebSocketFrame, to: Buffer, at: number): void {
  if (key === undefined) {
    data.copy(to, at);
    return;
  }
  for (let index = 0; index < data.length; index++) {
    to[at + index] = (data[index] ?? 0) ^ (key >>> (24 - 8 * ((readBytes + index) & 3)));
  }
}

function masked(data: Buffer, key: Buffer): Buffer {
  const result = Buffer.allocUnsafe(data.length);
  for (let index = 0; index < data.length; index++)
    result[index] = (data[index] ?? 0) ^ (key[index & 3] ?? 0);
  return result;
}
