/**
 * Writes and parses the frames of SPDY/3.1. Sections are those of the SPDY protocol, draft 3.1
 * (chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1).
 */
import { ByteReader } from '../../async/index.js';
import { spdyLimits } from '../limits.js';

/** SPDY/3.1 has version 3 on the wire (section 2.2.1). */
const version = 3;
/** The header of every frame (sections 2.2.1 and 2.2.2). */
const headBytes = 8;
/** FLAG_FIN, the last frame of its sender on the stream (section 2.3.6). */
export const finFlag = 0x01;
/** SETTINGS_INITIAL_WINDOW_SIZE (section 2.6.4). */
export const initialWindowSizeSetting = 7;

/** The status codes of RST_STREAM (section 2.6.3). */
export const RstStatus = { protocolError: 1, refusedStream: 3, cancel: 5, flowControlError: 7 } as const;

/** The control frames (section 2.6). */
const frameType = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

/** A parsed frame; its header block is still compressed. */
export type SpdyFrame =
  /** A part of the payload of a data frame; `fin` is set only on the last part. */
  | { readonly kind: 'data'; readonly streamId: number; readonly bytes: Buffer; readonly fin: boolean }
  | { readonly kind: 'syn-stream'; readonly streamId: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly kind: 'syn-reply'; readonly streamId: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly kind: 'rst-stream'; readonly streamId: number; readonly status: number }
  | { readonly kind: 'settings'; readonly initialWindowBytes: number | undefined }
  | { readonly kind: 'ping'; readonly id: number }
  | { readonly kind: 'go-away'; readonly status: number }
  | { readonly kind: 'headers'; readonly streamId: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly kind: 'window-update'; readonly streamId: number; readonly deltaBytes: number };

/** The peer violated SPDY/3.1: a session error, which ends the connection (section 2.4.1). */
export class SpdyProtocolError extends Error {
  override readonly name = 'SpdyProtocolError';
}

export function dataFrame(streamId: number, bytes: Buffer, fin: boolean): Buffer[] {
  const head = Buffer.allocUnsafe(headBytes);
  head.writeUInt32BE(streamId, 0);
  head.writeUInt32BE(((fin ? finFlag : 0) << 24) | bytes.length, 4);
  return bytes.length === 0 ? [head] : [head, bytes];
}

export function synStreamFrame(streamId: number, block: Buffer, fin: boolean): Buffer {
  return controlFrame(frameType.synStream, Buffer.concat([words(streamId, 0), Buffer.alloc(2), block]), fin);
}

export function synReplyFrame(streamId: number, block: Buffer): Buffer {
  return controlFrame(frameType.synReply, Buffer.concat([words(streamId), block]));
}

export function rstStreamFrame(streamId: number, status: number): Buffer {
  return controlFrame(frameType.rstStream, words(streamId, status));
}

export function pingFrame(id: number): Buffer {
  return controlFrame(frameType.ping, words(id));
}

export function goAwayFrame(lastGoodStreamId: number, status = 0): Buffer {
  return controlFrame(frameType.goAway, words(lastGoodStreamId, status));
}

export function settingsFrame(initialWindowBytes: number): Buffer {
  return controlFrame(frameType.settings, words(1, initialWindowSizeSetting, initialWindowBytes));
}

export function windowUpdateFrame(streamId: number, deltaBytes: number): Buffer {
  return controlFrame(frameType.windowUpdate, words(streamId, deltaBytes));
}

function controlFrame(type: number, body: Buffer, fin = false): Buffer {
  const head = Buffer.allocUnsafe(headBytes);
  head.writeUInt16BE(0x8000 | version, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt32BE(((fin ? finFlag : 0) << 24) | body.length, 4);
  return Buffer.concat([head, body]);
}

function words(...values: number[]): Buffer {
  const bytes = Buffer.allocUnsafe(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}

/**
 * Splits a byte stream into frames. It passes on the payload of data frames at once, so it buffers at most one control
 * frame.
 */
export class SpdyFrameReader {
  readonly #bytes = new ByteReader();
  #data: { readonly streamId: number; readonly fin: boolean; leftBytes: number } | undefined;
  /** The header of a control frame whose body is not complete yet. */
  #control: { readonly type: number; readonly flags: number; readonly lengthBytes: number } | undefined;

  /** Throws `SpdyProtocolError` for an invalid frame. */
  *read(chunk: Buffer): Generator<SpdyFrame, void, undefined> {
    this.#bytes.push(chunk);
    for (;;) {
      if (this.#data !== undefined) {
        const part = this.#bytes.takeSome(this.#data.leftBytes);
        this.#data.leftBytes -= part.length;
        const { streamId, leftBytes } = this.#data;
        const fin = leftBytes === 0 && this.#data.fin;
        if (leftBytes === 0) this.#data = undefined;
        if (part.length > 0 || fin) yield { kind: 'data', streamId, bytes: part, fin };
        if (leftBytes > 0) return;
      } else if (this.#control !== undefined) {
        const { type, flags, lengthBytes } = this.#control;
        const body = this.#bytes.take(lengthBytes);
        if (body === undefined) return;
        this.#control = undefined;
        yield controlOf(type, flags, body);
      } else if (!this.#nextHead()) return;
    }
  }

  /** Whether a frame has begun. */
  #nextHead(): boolean {
    const head = this.#bytes.take(headBytes);
    if (head === undefined) return false;
    const flags = head.readUInt8(4);
    const lengthBytes = head.readUIntBE(5, 3);
    const first = head.readUInt32BE(0);
    if (first < 0x8000_0000) {
      this.#data = { streamId: first, fin: (flags & finFlag) !== 0, leftBytes: lengthBytes };
    } else {
      const type = head.readUInt16BE(2);
      checkControlHead(head.readUInt16BE(0) & 0x7fff, type, lengthBytes);
      this.#control = { type, flags, lengthBytes };
    }
    return true;
  }
}

const knownTypes = new Set<number>(Object.values(frameType));

function checkControlHead(frameVersion: number, type: number, length: number): void {
  if (frameVersion !== version)
    throw new SpdyProtocolError(`received a frame of SPDY version ${frameVersion}`);
  if (!knownTypes.has(type)) throw new SpdyProtocolError(`received a frame of the unknown type ${type}`);
  if (length > spdyLimits.controlFrameBytes) {
    throw new SpdyProtocolError(
      `received a control frame of ${length} bytes; the maximum is ${spdyLimits.controlFrameBytes}`,
    );
  }
}

function controlOf(type: number, flags: number, body: Buffer): SpdyFrame {
  const need = (bytes: number): void => {
    if (body.length < bytes)
      throw new SpdyProtocolError(`received a frame of type ${type} that is too short`);
  };
  const streamId = (): number => {
    need(4);
    const id = body.readUInt32BE(0) & 0x7fff_ffff;
    if (id === 0) throw new SpdyProtocolError(`received a frame of type ${type} for stream 0`);
    return id;
  };
  const fin = (flags & finFlag) !== 0;
  switch (type) {
    case frameType.synStream:
      need(10);
      return { kind: 'syn-stream', streamId: streamId(), fin, block: body.subarray(10) };
    case frameType.synReply:
      return { kind: 'syn-reply', streamId: streamId(), fin, block: body.subarray(4) };
    case frameType.headers:
      return { kind: 'headers', streamId: streamId(), fin, block: body.subarray(4) };
    case frameType.rstStream:
      need(8);
      return { kind: 'rst-stream', streamId: streamId(), status: body.readUInt32BE(4) };
    case frameType.ping:
      need(4);
      return { kind: 'ping', id: body.readUInt32BE(0) };
    case frameType.goAway:
      need(8);
      return { kind: 'go-away', status: body.readUInt32BE(4) };
    case frameType.windowUpdate:
      need(8);
      return {
        kind: 'window-update',
        streamId: body.readUInt32BE(0) & 0x7fff_ffff,
        deltaBytes: body.readUInt32BE(4) & 0x7fff_ffff,
      };
    default:
      return { kind: 'settings', initialWindowBytes: initialWindowOf(body) };
  }
}

/** Each entry has 8 bits of flags, an identifier of 24 bits and a value of 32 bits (section 2.6.4). */
function initialWindowOf(body: Buffer): number | undefined {
  if (body.length < 4) throw new SpdyProtocolError('received a SETTINGS frame that is too short');
  const count = body.readUInt32BE(0);
  if (body.length < 4 + count * 8) throw new SpdyProtocolError('received a SETTINGS frame that is too short');
  for (let index = 0; index < count; index++) {
    const at = 4 + index * 8;
    if ((body.readUInt32BE(at) & 0x00ff_ffff) === initialWindowSizeSetting) return body.readUInt32BE(at + 4);
  }
  return undefined;
}
