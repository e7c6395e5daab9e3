/**
 * One HTTP/2 connection to a unix socket for calls that send a message and read an answer. Node's own costs several times
 * as much for each call, and an agent makes a dozen of them for each pod. Sections are those of RFC 9113.
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
  /** First those of the answer, then its trailers; an answer without a body has them in one. */
  headers(headers: Headers): void;
  data(chunk: Buffer): void;
  /** Once, and nothing after it; not after `cancel`. */
  ended(end: StreamEnd): void;
}

export interface StreamEnd {
  /** What the other side gave up the stream with; 0 for one that ended by itself. */
  readonly resetCode: number;
  readonly error: Error | undefined;
}

export interface SessionOptions {
  readonly socketPath: string;
  /** What the other side may send on a stream before it is read. */
  readonly streamWindowBytes: number;
  /** The same for all streams together. */
  readonly connectionWindowBytes: number;
}

/** The flow-control window of each side at first (section 6.9.2), and the largest there is (section 6.9.1). */
const defaultWindowBytes = 65_535;
const largestWindowBytes = 2 ** 31 - 1;
/** Section 5.1.1: no id is used twice, so a connection that has used all is replaced. */
const lastStreamId = 2 ** 31 - 1;
/** The largest SETTINGS_MAX_FRAME_SIZE (section 6.5.2). */
const largestFrameBytes = 2 ** 24 - 1;
const rememberedBlocks = 64;
/** What a frame of headers counts for besides what it holds, which may be nothing. */
const frameCostBytes = 64;
/** What may wait for another frame waits so long. */
const laterMs = 20;
const maxLater = 8;
const nothing = Buffer.alloc(0);

/** Of one call; made by `H2Session.open`. */
export class H2Stream {
  id = 0;
  sendWindow = 0;
  /** What could not be sent yet. */
  unsent: Buffer | undefined;
  /** Received, but not read. */
  unreadBytes = 0;
  /** Read, but not told to the other side. */
  unacknowledgedBytes = 0;

  constructor(
    readonly session: H2Session,
    readonly block: Buffer,
    readonly body: Buffer,
    readonly events: StreamEvents,
    /** Whether what comes counts as read at once; else `consumed` tells. */
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
  /** More than the other side takes at once wait. */
  readonly #waiting: H2Stream[] = [];
  /** Answers hardly differ in their headers. */
  readonly #blocks = new Map<string, Headers>();
  #partial: { readonly frame: Http2Frame; readonly parts: Buffer[]; costBytes: number } | undefined;
  #nextId = 1;
  #sendWindow = defaultWindowBytes;
  #peerWindow = defaultWindowBytes;
  #peerFrameBytes = maxFrameBytes;
  /** Unlimited until the other side says otherwise (section 6.5.2). */
  #peerStreams = Number.POSITIVE_INFINITY;
  #unacknowledgedBytes = 0;
  #isUsable = true;
  #isClosed = false;
  readonly #later: Buffer[] = [];
  #laterTimer: NodeJS.Timeout | undefined;
  /** Answers to pings and settings that the other side has not taken. */
  #waitingAnswers = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#socket = createConnection(options.socketPath);
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
    // Requests may follow at once: the server reads these settings before the first of them (section 3.4).
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

  /** Whether calls may be made on it; those under way may still end well when it is not. */
  get isUsable(): boolean {
    return this.#isUsable && this.#nextId < lastStreamId - 2;
  }

  /** Sends a call: an encoded block of headers and the whole body. */
  open(block: Buffer, body: Buffer, events: StreamEvents, isRead: boolean): H2Stream {
    const stream = new H2Stream(this, block, body, events, isRead);
    if (this.#streams.size < this.#peerStreams && this.#waiting.length === 0) this.#begin(stream);
    else if (this.#waiting.length < grpcClientLimits.waitingCalls) this.#waiting.push(stream);
    else throw new Error(`${this.#waiting.length} calls wait for the other side to take them`);
    return stream;
  }

  /** Ends all calls with nothing but the connection as the reason. */
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
    // The streams of a client have odd and rising ids (section 5.1.1).
    stream.id = this.#nextId;
    this.#nextId += 2;
    stream.sendWindow = this.#peerWindow;
    this.#streams.set(stream.id, stream);
    const { block, body, id } = stream;
    if (block.length > this.#peerFrameBytes) throw new Error('the headers of a call are too long');
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

  /** Begins waiting calls while the other side takes more streams (section 5.1.2). */
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

  /** With the next frame or soon: a runtime asks for a sign of life with nearly every call. */
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
      // A connection error: GOAWAY with its code, then the end of the connection (section 5.4.1).
      const goodbye = Buffer.alloc(8);
      goodbye.writeUInt32BE(errorCodes.protocolError, 4);
      this.#send(frame(frameTypes.goAway, 0, 0, goodbye));
      this.#isUsable = false;
      this.#socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #handle(received: Http2Frame): void {
    // No other frame may come inside a field block (section 4.3).
    if (this.#partial !== undefined && received.type !== frameTypes.continuation) {
      throw new Error('a block of headers was interrupted');
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
          this.#countAnswer();
          this.#settings(payload);
        }
        break;
      case frameTypes.ping:
        if ((flag & flags.ack) === 0) {
          this.#countAnswer();
          // The same eight bytes go back (section 6.7).
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
        // SETTINGS_ENABLE_PUSH is 0, so that it is a connection error (section 6.6).
        throw new Error('a push was not asked for');
      default:
        // Frames of unknown types are discarded (section 4.1).
        break;
    }
  }

  /** One who asks and does not read must not fill our memory with answers. */
  #countAnswer(): void {
    if (!this.#socket.writableNeedDrain) this.#waitingAnswers = 0;
    else if (++this.#waitingAnswers > grpcClientLimits.waitingAnswers) {
      throw new Error('the other side asks and does not read the answers');
    }
  }

  #data(received: Http2Frame): void {
    const { streamId, payload } = received;
    // The whole payload counts, padding included (section 6.1). The connection's window is given back whoever reads: the
    // window of its stream holds a slow reader back.
    this.#unacknowledgedBytes += payload.length;
    if (this.#unacknowledgedBytes >= this.#options.connectionWindowBytes / 2) {
      this.#send(numberFrame(frameTypes.windowUpdate, 0, this.#unacknowledgedBytes));
      this.#unacknowledgedBytes = 0;
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    stream.unreadBytes += payload.length;
    if (stream.unreadBytes > this.#options.streamWindowBytes) {
      throw new Error('the other side sends more than there is room for');
    }
    const content = contentOf(received);
    if (content.length > 0) stream.events.data(content);
    if ((received.flags & flags.endStream) !== 0) this.#end(stream);
    else if (stream.isRead) this.consumed(stream, payload.length);
    else if (payload.length > content.length) this.consumed(stream, payload.length - content.length);
  }

  #continue(received: Http2Frame): void {
    const partial = this.#partial;
    if (partial === undefined || partial.frame.streamId !== received.streamId) {
      throw new Error('headers are continued that did not begin');
    }
    partial.parts.push(received.payload);
    partial.costBytes += received.payload.length + frameCostBytes;
    if (partial.costBytes > grpcClientLimits.headerBlockBytes) {
      throw new Error('a block of headers is too long');
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
    // The answer came before the end of the request, whose rest is of no use (section 8.1).
    if (stream.unsent !== undefined) {
      this.#send(numberFrame(frameTypes.resetStream, stream.id, errorCodes.cancel));
    }
    this.#finish(stream, { resetCode: 0, error: undefined });
  }

  #reset(streamId: number, resetCode: number): void {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    const error = new Error(`the stream was given up with code ${resetCode}`);
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
          if (value > largestWindowBytes) throw new Error(`an initial window of ${value} bytes`);
          // Open streams change by the difference, and may fall below 0 (section 6.9.2).
          for (const stream of this.#streams.values()) stream.sendWindow += value - this.#peerWindow;
          this.#peerWindow = value;
          break;
        case settingIds.maxFrameSize:
          // A connection error (section 6.5.2).
          if (value < maxFrameBytes || value > largestFrameBytes) throw new Error(`frames of ${value} bytes`);
          this.#peerFrameBytes = value;
          break;
        default:
          // Unknown settings are ignored (section 6.5.2), and the others bound what this side never does.
          break;
      }
    }
    // Acknowledged once applied (section 6.5.3).
    this.#send(frame(frameTypes.settings, flags.ack, 0, Buffer.alloc(0)));
    this.#flushAll();
    this.#turn();
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

  /** Streams with a higher id were not processed (section 6.8). */
  #goAway(lastId: number): void {
    this.#isUsable = false;
    const error = new Error('the other side takes no more calls on this connection');
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
  }
}
