/**
 * Writes the HTTP/2 frames that a client sends and parses those that it receives. Sections are those of RFC 9113.
 */
import { ByteReader } from '../../async/index.js';
import { grpcClientLimits } from '../limits.js';

/** Section 6. PRIORITY (2) is deprecated (section 5.3.2) and ignored like an unknown type. */
export const frameTypes = {
  data: 0,
  headers: 1,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flags = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

/** Section 6.5.2. */
export const settingIds = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
} as const;

/** Section 7. */
export const errorCodes = { noError: 0, protocolError: 1, refusedStream: 7, cancel: 8 } as const;

/** The first bytes that a client sends; a SETTINGS frame must follow (section 3.4). */
export const clientPreface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** The frame header: length (24 bits), type (8), flags (8), a reserved bit, stream identifier (31) (section 4.1). */
const prefixBytes = 9;
/** The initial SETTINGS_MAX_FRAME_SIZE (section 6.5.2). We do not raise it; a larger frame is an error (section 4.2). */
export const maxFrameBytes = grpcClientLimits.frameBytes;

export interface Http2Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

interface FrameHead extends Omit<Http2Frame, 'payload'> {
  readonly lengthBytes: number;
}

export function frame(type: number, flag: number, streamId: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(prefixBytes + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flag;
  bytes.writeUInt32BE(streamId, 5);
  bytes.set(payload, prefixBytes);
  return bytes;
}

/** A frame whose payload is one 32-bit number: RST_STREAM (section 6.4) or WINDOW_UPDATE (section 6.9). */
export function numberFrame(type: number, streamId: number, value: number): Buffer {
  const payload = Buffer.allocUnsafe(4);
  payload.writeUInt32BE(value, 0);
  return frame(type, 0, streamId, payload);
}

/** A setting is an identifier of 16 bits and a value of 32 (section 6.5.1). */
export function settingsFrame(settings: ReadonlyArray<readonly [id: number, value: number]>): Buffer {
  const payload = Buffer.allocUnsafe(6 * settings.length);
  settings.forEach(([id, value], index) => {
    payload.writeUInt16BE(id, 6 * index);
    payload.writeUInt32BE(value, 6 * index + 2);
  });
  return frame(frameTypes.settings, 0, 0, payload);
}

/** Collects chunks of any size and returns complete frames. */
export class Http2FrameReader {
  readonly #bytes = new ByteReader();
  /** The header of a frame whose payload is not complete yet. */
  #head: FrameHead | undefined;

  /** Throws for a frame above the maximum size. */
  *push(chunk: Buffer): Generator<Http2Frame, void, undefined> {
    this.#bytes.push(chunk);
    for (;;) {
      this.#head ??= this.#nextHead();
      if (this.#head === undefined) return;
      const { lengthBytes, type, flags: flag, streamId } = this.#head;
      const payload = this.#bytes.take(lengthBytes);
      if (payload === undefined) return;
      this.#head = undefined;
      yield { type, flags: flag, streamId, payload };
    }
  }

  #nextHead(): FrameHead | undefined {
    const prefix = this.#bytes.take(prefixBytes);
    if (prefix === undefined) return undefined;
    const lengthBytes = prefix.readUIntBE(0, 3);
    if (lengthBytes > maxFrameBytes) {
      throw new Error(`received a frame of ${lengthBytes} bytes, above the maximum of ${maxFrameBytes}`);
    }
    return {
      type: prefix[3] ?? 0,
      flags: prefix[4] ?? 0,
      // Receivers ignore the reserved bit (section 4.1).
      streamId: prefix.readUInt32BE(5) & 0x7fff_ffff,
      lengthBytes,
    };
  }
}

/**
 * The content of a DATA (section 6.1) or HEADERS frame (section 6.2), without the padding and the deprecated priority.
 * Padding that exceeds the payload is a connection error (sections 6.1 and 6.2).
 */
export function contentOf({ type, flags: flag, payload }: Http2Frame): Buffer {
  const isPadded = (flag & flags.padded) !== 0;
  const hasPriority = type === frameTypes.headers && (flag & flags.priority) !== 0;
  if (!isPadded && !hasPriority) return payload;
  const padding = isPadded ? (payload[0] ?? 0) : 0;
  const start = (isPadded ? 1 : 0) + (hasPriority ? 5 : 0);
  if (start + padding > payload.length) throw new Error('received a frame that is shorter than its padding');
  return payload.subarray(start, payload.length - padding);
}
