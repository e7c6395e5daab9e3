/**
 * The client side of one HTTP/2 connection to a unix socket or a port. A call of Node's own client costs several times
 * as much, and the agent makes a dozen calls for each pod. Sections are those of RFC 9113.
 */
import { createConnection, type Socket } from 'node:net';
import { grpcClientLimits } from '../limits.js';
import {
  clientPreface,
  contentOf,
  errorCodes,
  flags,
  frame,
  frameTypes,
  type Http2Frame,
  Http2FrameReader,
  maxFrameBytes,
  numberFrame,
  settingIds,
  settingsFrame,
} from './frames.js';
import { decodeHeaders, type Headers } from './hpack.js';

export interface StreamEvents {
  /** Called with the headers, then with the trailers. A response without a body has one block for both. */
  headers(headers: Headers): void;
  data(chunk: Buffer): void;
  /** Called once, as the last event. Not called after `cancel`. */
  ended(end: StreamEnd): void;
}

export interface StreamEnd {
  /** The error code of RST_STREAM; 0 for a stream that was not reset. */
  readonly resetCode: number;
  readonly error: Error | undefined;
}

export interface SessionOptions {
  /** The path of a socket, or a port. */
  readonly server: string | { readonly host: string; readonly port: number };
  /** How much the server may send on a stream before the caller reads it. */
  readonly streamWindowBytes: number;
  /** How much the server may send on all streams together before we acknowledge it. */
  readonly connectionWindowBytes: number;
  /** Called once the server has sent its settings, with which every connection begins (section 3.4). */
  readonly onReady?: () => void;
  /** Called once, when the connection is closed. */
  readonly onClose?: (error: Error | undefined) => void;
}

/** The initial flow-control window (section 6.9.2) and the largest one (section 6.9.1). */
const defaultWindowBytes = 65_535;
const largestWindowBytes = 2 ** 31 - 1;
/** Identifiers are not reused (section 5.1.1), so a connection that has used all of them is replaced. */
const lastStreamId = 2 ** 31 - 1;
/** The largest SETTINGS_MAX_FRAME_SIZE (section 6.5.2). */
const largestFrameBytes = 2 ** 24 - 1;
const rememberedBlocks = 64;
/** What a CONTINUATION frame counts besides its payload, which may be empty. */
const frameCostBytes = 64;
/** How long a PING acknowledgement may wait to share a write with another frame. */
const laterMs = 20;
const maxLater = 8;
const nothing = Buffer.alloc(0);

/** The stream of one call; made by `H2Session.open`. */
export class H2Stream {
  id = 0;
  sendWindow = 0;
  /** The rest of the body, which waits for flow-control window. */
  unsent: Buffer | undefined;
  /** Received, but not read by the caller. */
  unreadBytes = 0;
  /** Read, but not returned to the server as window. */
  unacknowledgedBytes = 0;

  constructor(
    readonly session: H2Session,
    readonly block: Buffer,
    readonly body: Buffer,
    readonly events: StreamEvents,
    /** Whether received bytes count as read at once. Otherwise the caller reports them with `consumed`. */
    readonly isRead: boolean,
  ) {}

  consumed(bytes: number): void {
    this.session.consumed(this, bytes);
  }

  cancel(): void {
    this.session.cancel(this);
  }
}

export class H2Session {
  readonly #options: SessionOptions;
  readonly #socket: Socket;
  readonly #reader = new Http2FrameReader();
  readonly #streams = new Map<number, H2Stream>();
  /** Calls beyond the server's SETTINGS_MAX_CONCURRENT_STREAMS. */
  readonly #waiting: H2Stream[] = [];
  /** Decoded header blocks; most responses have the same one. */
  readonly #blocks = new Map<string, Headers>();
  #partial: { readonly frame: Http2Frame; readonly parts: Buffer[]; costBytes: number } | undefined;
  #nextId = 1;
  #sendWindow = defaultWindowBytes;
  #peerWindow = defaultWindowBytes;
  #peerFrameBytes = maxFrameBytes;
  /** Unlimited until the server sets a limit (section 6.5.2). */
  #peerStreams = Number.POSITIVE_INFINITY;
  #unacknowledgedBytes = 0;
  #isUsable = true;
  #isClosed = false;
  readonly #later: Buffer[] = [];
  #laterTimer: NodeJS.Timeout | undefined;
  /** Acknowledgements that are queued because the server does not read. */
  #waitingReplies = 0;
  #isReady = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { server } = options;
    this.#socket =
      typeof server === 'string' ? createConnection(server) : createConnection({ ...server, noDelay: true });
    let failure: Error | undefined;
    this.#socket.on('error', (error) => {
      failure ??= error;
      this.#isUsable = false;
    });
    this.#socket.once('end', () => {
      this.#isUsable = false;
    });
    this.#socket.once('close', () => this.#close(failure));
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    // Requests may follow at once, before the server's SETTINGS arrive (section 3.4).
    this.#socket.write(
      Buffer.concat([
        clientPreface,
        settingsFrame([
          [settingIds.headerTableSize, 0],
          [settingIds.enablePush, 0],
          [settingIds.initialWindowSize, options.streamWindowBytes],
        ]),
        numberFrame(frameTypes.windowUpdate, 0, options.connectionWindowBytes - defaultWindowBytes),
      ]),
    );
  }

  /** Whether new calls may be made. Calls in flight may still succeed when it is false. */
  get isUsable(): boolean {
    return this.#isUsable && this.#nextId < lastStreamId - 2;
  }

  /** Sends a call: an encoded header block and the complete body. */
  open(block: Buffer, body: Buffer, events: StreamEvents, isRead: boolean): H2Stream {
    const stream = new H2Stream(this, block, body, events, isRead);
    if (this.#streams.size < this.#peerStreams && this.#waiting.length === 0) this.#begin(stream);
    else if (this.#waiting.length < grpcClientLimits.waitingCalls) this.#waiting.push(stream);
    else throw new Error(`${this.#waiting.length} calls wait for the server to accept them`);
    return stream;
  }

  /** Closes the connection, which ends all calls. */
  destroy(): void {
    this.#isUsable = false;
    this.#socket.destroy();
  }

  cancel(stream: H2Stream): void {
    const place = this.#waiting.indexOf(stream);
    if (place >= 0) this.#waiting.splice(place, 1);
    if (!this.#forget(stream)) return;
    this.#send(numberFrame(frameTypes.resetStream, stream.id, errorCodes.cancel));
    this.#turn();
  }

  consumed(stream: H2Stream, bytes: number): void {
    stream.unreadBytes -= bytes;
    stream.unacknowledgedBytes += bytes;
    if (stream.unacknowledgedBytes < this.#options.streamWindowBytes / 2 || !this.#streams.has(stream.id))
      return;
    this.#send(numberFrame(frameTypes.windowUpdate, stream.id, stream.unacknowledgedBytes));
    stream.unacknowledgedBytes = 0;
  }

  #begin(stream: H2Stream): void {
    // A client uses odd stream identifiers in increasing order (section 5.1.1).
    stream.id = this.#nextId;
    this.#nextId += 2;
    stream.sendWindow = this.#peerWindow;
    this.#streams.set(stream.id, stream);
    const { block, body, id } = stream;
    if (block.length > this.#peerFrameBytes)
      throw new Error('the header block of the call does not fit in one frame');
    const head = frame(frameTypes.headers, flags.endHeaders, id, block);
    const mayGo = Math.min(this.#sendWindow, stream.sendWindow, this.#peerFrameBytes);
    if (body.length > mayGo) {
      stream.unsent = body;
      this.#send(head);
      this.#flush(stream);
      return;
    }
    this.#sendWindow -= body.length;
    stream.sendWindow -= body.length;
    this.#send(Buffer.concat([head, frame(frameTypes.data, flags.endStream, id, body)]));
  }

  /** Sends as much of a body as the windows of the stream and of the connection allow (section 6.9.1). */
  #flush(stream: H2Stream): void {
    while (stream.unsent !== undefined) {
      const mayGo = Math.min(this.#sendWindow, stream.sendWindow, this.#peerFrameBytes);
      if (mayGo <= 0) return;
      const part = stream.unsent.subarray(0, mayGo);
      const isLast = part.length === stream.unsent.length;
      stream.unsent = isLast ? undefined : stream.unsent.subarray(mayGo);
      this.#sendWindow -= part.length;
      stream.sendWindow -= part.length;
      this.#send(frame(frameTypes.data, isLast ? flags.endStream : 0, stream.id, part));
    }
  }

  #flushAll(): void {
    for (const stream of this.#streams.values()) this.#flush(stream);
  }

  /** Begins waiting calls while the server accepts more streams (section 5.1.2). */
  #turn(): void {
    while (this.#isUsable && this.#streams.size < this.#peerStreams) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#begin(next);
    }
    // GOAWAY received and no open streams: close.
    if (!this.#isUsable && this.#streams.size === 0 && !this.#isClosed) this.#socket.destroy();
  }

  #send(bytes: Buffer): void {
    if (this.#socket.destroyed) return;
    if (this.#later.length === 0) {
      this.#socket.write(bytes);
      return;
    }
    clearTimeout(this.#laterTimer);
    this.#socket.write(Buffer.concat([...this.#later.splice(0), bytes]));
  }

  /** Sends the bytes with the next frame, or after a short time. Runtimes send a PING with nearly every call. */
  #sendLater(bytes: Buffer): void {
    this.#later.push(bytes);
    if (this.#later.length > maxLater) this.#send(nothing);
    else if (this.#later.length === 1) this.#laterTimer = setTimeout(() => this.#send(nothing), laterMs);
  }

  #read(chunk: Buffer): void {
    try {
      for (const received of this.#reader.push(chunk)) {
        if (this.#isClosed) return;
        this.#handle(received);
      }
    } catch (error) {
      // A connection error: send GOAWAY with the error code, then close the connection (section 5.4.1).
      const goodbye = Buffer.alloc(8);
      goodbye.writeUInt32BE(errorCodes.protocolError, 4);
      this.#send(frame(frameTypes.goAway, 0, 0, goodbye));
      this.#isUsable = false;
      this.#socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #handle(received: Http2Frame): void {
    // No other frame may come inside a field block (sections 4.3 and 6.10).
    if (this.#partial !== undefined && received.type !== frameTypes.continuation) {
      throw new Error('received another frame inside a header block');
    }
    const { type, flags: flag, streamId, payload } = received;
    switch (type) {
      case frameTypes.data:
        this.#data(received);
        break;
      case frameTypes.headers:
        if ((flag & flags.endHeaders) !== 0) this.#headers(received, contentOf(received));
        else this.#partial = { frame: received, parts: [contentOf(received)], costBytes: payload.length };
        break;
      case frameTypes.continuation:
        this.#continue(received);
        break;
      case frameTypes.resetStream:
        this.#reset(streamId, payload.readUInt32BE(0));
        break;
      case frameTypes.settings:
        if ((flag & flags.ack) === 0) {
          this.#countReply();
          this.#settings(payload);
        }
        break;
      case frameTypes.ping:
        if ((flag & flags.ack) === 0) {
          this.#countReply();
          // The acknowledgement repeats the payload (section 6.7).
          this.#sendLater(frame(frameTypes.ping, flags.ack, 0, payload));
        }
        break;
      case frameTypes.goAway:
        this.#goAway(payload.readUInt32BE(0) & lastStreamId);
        break;
      case frameTypes.windowUpdate:
        this.#moreRoom(streamId, payload.readUInt32BE(0) & largestWindowBytes);
        break;
      case frameTypes.pushPromise:
        // A connection error, as our SETTINGS_ENABLE_PUSH is 0 (section 6.6).
        throw new Error('received PUSH_PROMISE, which our settings forbid');
      default:
        // Frames of unknown types are ignored (sections 4.1 and 5.5).
        break;
    }
  }

  /** Bounds the acknowledgements that we queue for a server that does not read. */
  #countReply(): void {
    if (!this.#socket.writableNeedDrain) this.#waitingReplies = 0;
    else if (++this.#waitingReplies > grpcClientLimits.waitingReplies) {
      throw new Error('the server sends PING or SETTINGS and does not read the acknowledgements');
    }
  }

  #data(received: Http2Frame): void {
    const { streamId, payload } = received;
    // The complete payload counts, with its padding (section 6.1). The connection's window is returned at once: a slow
    // reader is held back by the window of its stream.
    this.#unacknowledgedBytes += payload.length;
    if (this.#unacknowledgedBytes >= this.#options.connectionWindowBytes / 2) {
      this.#send(numberFrame(frameTypes.windowUpdate, 0, this.#unacknowledgedBytes));
      this.#unacknowledgedBytes = 0;
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    stream.unreadBytes += payload.length;
    if (stream.unreadBytes > this.#options.streamWindowBytes) {
      throw new Error('received more data than the flow-control window of the stream allows');
    }
    const content = contentOf(received);
    if (content.length > 0) stream.events.data(content);
    if ((received.flags & flags.endStream) !== 0) this.#end(stream);
    else if (stream.isRead) this.consumed(stream, payload.length);
    else if (payload.length > content.length) this.consumed(stream, payload.length - content.length);
  }

  /** CONTINUATION must follow a header block of the same stream (section 6.10). */
  #continue(received: Http2Frame): void {
    const partial = this.#partial;
    if (partial === undefined || partial.frame.streamId !== received.streamId) {
      throw new Error('received CONTINUATION without a header block');
    }
    partial.parts.push(received.payload);
    partial.costBytes += received.payload.length + frameCostBytes;
    if (partial.costBytes > grpcClientLimits.headerBlockBytes) {
      throw new Error('received a header block that is too long');
    }
    if ((received.flags & flags.endHeaders) === 0) return;
    this.#partial = undefined;
    this.#headers(partial.frame, Buffer.concat(partial.parts));
  }

  #headers({ streamId, flags: flag }: Http2Frame, block: Buffer): void {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    stream.events.headers(this.#decoded(block));
    if ((flag & flags.endStream) !== 0) this.#end(stream);
  }

  #decoded(block: Buffer): Headers {
    const key = block.toString('latin1');
    const known = this.#blocks.get(key);
    if (known !== undefined) return known;
    const headers = decodeHeaders(block);
    if (this.#blocks.size >= rememberedBlocks) this.#blocks.clear();
    this.#blocks.set(key, headers);
    return headers;
  }

  #end(stream: H2Stream): void {
    // The response is complete before the request; the server needs no more of it (section 8.1).
    if (stream.unsent !== undefined) {
      this.#send(numberFrame(frameTypes.resetStream, stream.id, errorCodes.cancel));
    }
    this.#finish(stream, { resetCode: 0, error: undefined });
  }

  #reset(streamId: number, resetCode: number): void {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    const error = new Error(`the server reset the stream with code ${resetCode}`);
    this.#finish(stream, { resetCode, error });
  }

  #settings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      const value = payload.readUInt32BE(at + 2);
      switch (payload.readUInt16BE(at)) {
        case settingIds.maxConcurrentStreams:
          this.#peerStreams = value;
          break;
        case settingIds.initialWindowSize:
          // A connection error (section 6.5.2).
          if (value > largestWindowBytes) {
            throw new Error(`received SETTINGS_INITIAL_WINDOW_SIZE ${value}`);
          }
          // The windows of open streams change by the difference and may become negative (section 6.9.2).
          for (const stream of this.#streams.values()) stream.sendWindow += value - this.#peerWindow;
          this.#peerWindow = value;
          break;
        case settingIds.maxFrameSize:
          // A connection error (section 6.5.2).
          if (value < maxFrameBytes || value > largestFrameBytes) {
            throw new Error(`received SETTINGS_MAX_FRAME_SIZE ${value}`);
          }
          this.#peerFrameBytes = value;
          break;
        default:
          // Unknown settings are ignored (section 6.5.2). The other known ones limit what this client never does.
          break;
      }
    }
    // The acknowledgement follows once the settings are applied (section 6.5.3).
    this.#send(frame(frameTypes.settings, flags.ack, 0, Buffer.alloc(0)));
    this.#flushAll();
    this.#turn();
    if (!this.#isReady) this.#options.onReady?.();
    this.#isReady = true;
  }

  #moreRoom(streamId: number, bytes: number): void {
    if (streamId === 0) {
      this.#sendWindow += bytes;
      this.#flushAll();
      return;
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    stream.sendWindow += bytes;
    this.#flush(stream);
  }

  /** The server has not processed streams above the last identifier (section 6.8). */
  #goAway(lastId: number): void {
    this.#isUsable = false;
    const error = new Error('the server accepts no more calls on this connection (GOAWAY)');
    const end: StreamEnd = { resetCode: errorCodes.refusedStream, error };
    for (const stream of [...this.#streams.values()]) if (stream.id > lastId) this.#finish(stream, end);
    for (const stream of this.#waiting.splice(0)) stream.events.ended(end);
    this.#turn();
  }

  #finish(stream: H2Stream, end: StreamEnd): void {
    if (!this.#forget(stream)) return;
    stream.events.ended(end);
    this.#turn();
  }

  #forget(stream: H2Stream): boolean {
    stream.unsent = undefined;
    return this.#streams.delete(stream.id);
  }

  #close(error: Error | undefined): void {
    clearTimeout(this.#laterTimer);
    this.#isClosed = true;
    this.#isUsable = false;
    const streams = [...this.#streams.values(), ...this.#waiting.splice(0)];
    this.#streams.clear();
    for (const stream of streams) stream.events.ended({ resetCode: 0, error });
    this.#options.onClose?.(error);
  }
}
