/** The frames of RFC 6455 as bytes: written whole, read into whole messages. */
import { randomBytes } from 'node:crypto';

export const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export const CloseCode = { normal: 1000, protocolError: 1002, tooBig: 1009 } as const;

/** The longest message that is taken. */
export const messageLimitBytes = 32 * 1024 * 1024;
const longestControlBytes = 125;

export type WebSocketMessage =
  | { readonly kind: 'message'; readonly binary: boolean; readonly data: Buffer }
  | { readonly kind: 'ping'; readonly data: Buffer }
  | { readonly kind: 'pong'; readonly data: Buffer }
  | { readonly kind: 'close'; readonly code: number | undefined };

/** The other side does not speak the protocol; the connection ends with the code. */
export class WebSocketError extends Error {
  override readonly name = 'WebSocketError';
  readonly code: number;

  constructor(message: string, code: number = CloseCode.protocolError) {
    super(message);
    this.code = code;
  }
}

/** Clients must mask what they send, servers must not. */
export function encodeFrame(opcode: number, data: Buffer, { fin = true, mask = false } = {}): Buffer[] {
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

interface FrameHead {
  readonly fin: boolean;
  readonly opcode: number;
  readonly length: number;
  readonly key: Buffer | undefined;
  readonly headBytes: number;
}

/** Puts messages together out of the bytes that come; keeps at most one message. */
export class MessageReader {
  readonly #fromClient: boolean;
  #chunks: Buffer[] = [];
  #keptBytes = 0;
  /** What must be there before it is worth looking again. */
  #neededBytes = 2;
  #message: { readonly binary: boolean; readonly parts: Buffer[]; sizeBytes: number } | undefined;

  constructor({ fromClient }: { readonly fromClient: boolean }) {
    this.#fromClient = fromClient;
  }

  /** Throws `WebSocketError` for what cannot be a frame. */
  *read(chunk: Buffer): Generator<WebSocketMessage, void, undefined> {
    this.#chunks.push(chunk);
    this.#keptBytes += chunk.length;
    if (this.#keptBytes < this.#neededBytes) return;
    let bytes = Buffer.concat(this.#chunks);
    for (;;) {
      const head = parseHead(bytes);
      if (head === undefined) {
        this.#neededBytes = bytes.length + 1;
        break;
      }
      this.#check(head);
      const end = head.headBytes + head.length;
      if (bytes.length < end) {
        this.#neededBytes = end;
        break;
      }
      const payload = bytes.subarray(head.headBytes, end);
      bytes = bytes.subarray(end);
      const message = this.#take(head, head.key === undefined ? payload : masked(payload, head.key));
      if (message !== undefined) yield message;
    }
    this.#chunks = bytes.length === 0 ? [] : [Buffer.from(bytes)];
    this.#keptBytes = bytes.length;
    if (bytes.length === 0) this.#neededBytes = 2;
  }

  #check({ fin, opcode, length, key }: FrameHead): void {
    if ((key !== undefined) !== this.#fromClient) {
      throw new WebSocketError(this.#fromClient ? 'a frame without a mask' : 'a frame with a mask');
    }
    if (opcode >= Opcode.close) {
      if (opcode > Opcode.pong) throw new WebSocketError(`a frame of the unknown kind ${opcode}`);
      if (!fin || length > longestControlBytes) throw new WebSocketError('a control frame that is too long');
      return;
    }
    if (opcode > Opcode.binary) throw new WebSocketError(`a frame of the unknown kind ${opcode}`);
    if ((opcode === Opcode.continuation) !== (this.#message !== undefined)) {
      throw new WebSocketError('a part of a message out of turn');
    }
    if ((this.#message?.sizeBytes ?? 0) + length > messageLimitBytes) {
      throw new WebSocketError(`a message of more than ${messageLimitBytes} bytes`, CloseCode.tooBig);
    }
  }

  #take({ fin, opcode }: FrameHead, data: Buffer): WebSocketMessage | undefined {
    switch (opcode) {
      case Opcode.ping:
        return { kind: 'ping', data };
      case Opcode.pong:
        return { kind: 'pong', data };
      case Opcode.close:
        return { kind: 'close', code: data.length >= 2 ? data.readUInt16BE(0) : undefined };
      default: {
        const message = this.#message ?? { binary: opcode === Opcode.binary, parts: [], sizeBytes: 0 };
        if (data.length > 0) message.parts.push(data);
        message.sizeBytes += data.length;
        this.#message = fin ? undefined : message;
        return fin
          ? { kind: 'message', binary: message.binary, data: Buffer.concat(message.parts) }
          : undefined;
      }
    }
  }
}

function parseHead(bytes: Buffer): FrameHead | undefined {
  if (bytes.length < 2) return undefined;
  const first = bytes.readUInt8(0);
  if ((first & 0x70) !== 0) throw new WebSocketError('a frame with reserved bits set');
  const second = bytes.readUInt8(1);
  const hasMask = (second & 0x80) !== 0;
  const short = second & 0x7f;
  const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
  const headBytes = 2 + lengthBytes + (hasMask ? 4 : 0);
  if (bytes.length < headBytes) return undefined;
  const length =
    lengthBytes === 0 ? short : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  return {
    fin: (first & 0x80) !== 0,
    opcode: first & 0x0f,
    length,
    key: hasMask ? bytes.subarray(headBytes - 4, headBytes) : undefined,
    headBytes,
  };
}

function masked(data: Buffer, key: Buffer): Buffer {
  const result = Buffer.allocUnsafe(data.length);
  for (let at = 0; at < data.length; at++) result[at] = (data[at] ?? 0) ^ (key[at & 3] ?? 0);
  return result;
}
