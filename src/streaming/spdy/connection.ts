/**
 * A SPDY/3.1 connection on an upgraded socket. Sections are those of the SPDY protocol, draft 3.1.
 *
 * spdystream, which kubectl and the runtimes use, ignores flow control. So when a stream holds a full window, this side
 * stops reading the whole connection, and the kernel slows the sender down. A peer that sends its initial window in
 * SETTINGS, as this implementation does, obeys flow control (section 2.6.8): then a slow stream blocks only itself.
 */
import type { Duplex } from 'node:stream';
import { asError, type Clock, type Timer } from '../../async/index.js';
import { IdleWatch } from '../idle-watch.js';
import { spdyLimits, streamingClientLimits, streamingLimits } from '../limits.js';
import { writableRoom } from '../writable-room.js';
import {
  dataFrame,
  goAwayFrame,
  pingFrame,
  RstStatus,
  rstStreamFrame,
  type SpdyFrame,
  SpdyFrameReader,
  settingsFrame,
  synReplyFrame,
  synStreamFrame,
  windowUpdateFrame,
} from './frames.js';
import { HeaderBlockReader, HeaderBlockWriter, type SpdyHeaders } from './header-blocks.js';
import { SpdyStream, type StreamLink, streamWindowBytes } from './stream.js';

export interface SpdyConnectionOptions {
  readonly socket: Duplex;
  /** The bytes that followed the HTTP message. */
  readonly head: Buffer;
  readonly role: 'client' | 'server';
  readonly clock: Clock;
  /** Ends the connection when it was idle for this long. Default: never. */
  readonly idleTimeoutMs?: number;
  /** For a server: must accept or refuse the stream before it returns. Without it, every stream is refused. */
  readonly onStream?: (stream: SpdyStream) => void;
}

const longestDataBytes = 32 * 1024;
const { replyMs } = streamingClientLimits;

interface OpeningStream {
  readonly accepted: () => void;
  readonly refused: (error: Error) => void;
}

export class SpdyConnection implements StreamLink {
  /** Resolves when the connection has ended for any reason. */
  readonly closed: Promise<void>;
  readonly #options: SpdyConnectionOptions;
  readonly #socket: Duplex;
  readonly #streams = new Map<number, SpdyStream>();
  readonly #openings = new Map<number, OpeningStream>();
  readonly #pings = new Map<number, () => void>();
  readonly #blocksOut = new HeaderBlockWriter();
  readonly #blocksIn = new HeaderBlockReader();
  readonly #idleness: IdleWatch;
  #drained: Promise<void> | undefined;
  #nextStreamId: number;
  #nextPingId: number;
  #lastPeerStreamId = 0;
  #peerWindowBytes: number | undefined;
  #goingAway = false;
  #over = false;
  #problem: Error | undefined;
  #endTimer: Timer | undefined;
  /** How much all streams buffer for their readers. */
  #heldBytes = 0;
  #whenHeldLess: (() => void) | undefined;
  /** Control frames that are queued because the peer does not read. */
  #waitingReplies = 0;

  constructor(options: SpdyConnectionOptions) {
    this.#options = options;
    this.#socket = options.socket;
    // The identifiers of a client's streams and pings are odd, a server's even (sections 2.3.2 and 2.6.5).
    this.#nextStreamId = options.role === 'client' ? 1 : 2;
    this.#nextPingId = options.role === 'client' ? 1 : 2;
    this.#idleness = new IdleWatch({
      clock: options.clock,
      idleTimeoutMs: options.idleTimeoutMs,
      onIdle: (reason) => this.destroy(reason),
    });
    this.#socket.on('error', (error) => {
      this.#problem ??= error;
    });
    this.#socket.once('close', () => {
      for (const stream of this.#streams.values()) stream.release();
      this.#whenHeldLess?.();
    });
    if (options.head.length > 0) this.#socket.unshift(options.head);
    this.#write(settingsFrame(streamWindowBytes));
    this.closed = this.#run();
  }

  /** Why the connection ended before `close`. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  /** How much is buffered for readers and for the peer. */
  get bufferedBytes(): number {
    let bytes = this.#socket.writableLength + this.#socket.readableLength;
    for (const stream of this.#streams.values()) bytes += stream.heldBytes + stream.writableLength;
    return bytes;
  }

  /** Resolves when the peer has accepted the stream. */
  async open(headers: SpdyHeaders): Promise<SpdyStream> {
    if (this.#goingAway || this.#over) throw this.#lost();
    const id = this.#nextStreamId;
    this.#nextStreamId += 2;
    const stream = new SpdyStream(id, headers, this);
    this.#add(stream);
    let timer: Timer | undefined;
    try {
      await new Promise<void>((accepted, refused) => {
        this.#openings.set(id, { accepted, refused });
        timer = this.#options.clock.setTimer(replyMs, () =>
          refused(new Error(`the peer did not accept the stream within ${replyMs / 1000} s`)),
        );
        this.#write(synStreamFrame(id, this.#blocksOut.write(headers), false));
      });
      return stream;
    } catch (error) {
      stream.destroy();
      throw error;
    } finally {
      timer?.cancel();
      this.#openings.delete(id);
    }
  }

  /** Resolves when the peer has answered. Rejects when the connection ends before. */
  async ping(): Promise<void> {
    if (this.#over) throw this.#lost();
    const id = this.#nextPingId;
    this.#nextPingId = (this.#nextPingId + 2) % 0x1_0000_0000;
    await new Promise<void>((resolve) => {
      this.#pings.set(id, resolve);
      this.#write(pingFrame(id));
    });
    if (this.#over) throw this.#lost();
  }

  /** Resets open streams, sends GOAWAY and resolves when the connection has ended (section 2.6.6). */
  close(): Promise<void> {
    if (!this.#goingAway && !this.#over) {
      this.#goingAway = true;
      for (const stream of [...this.#streams.values()]) {
        this.#write(rstStreamFrame(stream.id, RstStatus.cancel));
        stream.cut(new Error('the connection was closed'));
      }
      this.#streams.clear();
      this.#write(goAwayFrame(this.#lastPeerStreamId));
      // Closing with unread bytes would make the kernel drop what the peer has not read yet.
      this.#destroyAfter(streamingLimits.closeDrainMs);
      this.#socket.end(() => this.#destroyAfter(streamingLimits.closeLingerMs));
    }
    return this.closed;
  }

  /** Ends the connection at once. */
  destroy(reason: Error): void {
    this.#problem ??= reason;
    this.#socket.destroy();
  }

  // The interface for streams.

  async sendData(stream: SpdyStream, bytes: Buffer, fin: boolean): Promise<void> {
    if (fin && stream.resetBy === undefined) await this.#send(dataFrame(stream.id, bytes, true));
    for (let rest = bytes; rest.length > 0 && !fin; ) {
      const size = await stream.takeSendWindow(Math.min(rest.length, longestDataBytes));
      if (size === 0) return;
      await this.#send(dataFrame(stream.id, rest.subarray(0, size), false));
      rest = rest.subarray(size);
    }
  }

  sendReply(stream: SpdyStream): void {
    this.#write(synReplyFrame(stream.id, this.#blocksOut.write(new Map())));
  }

  sendReset(stream: SpdyStream, status: number): void {
    if (this.#streams.get(stream.id) === stream) this.#write(rstStreamFrame(stream.id, status));
  }

  sendWindowUpdate(stream: SpdyStream, deltaBytes: number): void {
    // A peer without flow control may close with these frames unread, and the kernel would drop its last data.
    if (this.#peerWindowBytes === undefined) return;
    if (this.#streams.get(stream.id) === stream) this.#write(windowUpdateFrame(stream.id, deltaBytes));
  }

  heldChanged(deltaBytes: number): void {
    this.#heldBytes += deltaBytes;
    if (this.#heldBytes <= spdyLimits.heldBytes) this.#whenHeldLess?.();
  }

  forget(stream: SpdyStream): void {
    if (this.#streams.get(stream.id) === stream) this.#streams.delete(stream.id);
  }

  async #run(): Promise<void> {
    const frames = new SpdyFrameReader();
    try {
      for await (const chunk of this.#socket.iterator({ destroyOnReturn: false })) {
        this.#idleness.touch();
        // A socket without an encoding yields buffers.
        for (const frame of frames.read(chunk as Buffer)) {
          await this.#handle(frame);
          if (this.#over) return;
        }
      }
    } catch (error) {
      this.#problem ??= asError(error);
    } finally {
      this.#finish();
    }
  }

  #finish(): void {
    this.#over = true;
    this.#idleness.stop();
    this.#endTimer?.cancel();
    this.#blocksIn.close();
    this.#socket.destroy();
    const lost = this.#lost();
    for (const stream of [...this.#streams.values()]) stream.cut(lost);
    this.#streams.clear();
    for (const { refused } of this.#openings.values()) refused(lost);
    for (const answered of this.#pings.values()) answered();
  }

  #lost(): Error {
    const problem = this.#problem;
    return new Error(
      problem === undefined ? 'the connection was closed' : `the connection was lost: ${problem.message}`,
      { cause: problem },
    );
  }

  async #handle(frame: SpdyFrame): Promise<void> {
    switch (frame.kind) {
      case 'data': {
        const stream = this.#streams.get(frame.streamId);
        const room = frame.bytes.length > 0 ? stream?.deliver(frame.bytes) : undefined;
        if (frame.fin) stream?.endFromPeer();
        if (room !== undefined) await room;
        while (this.#heldBytes > spdyLimits.heldBytes && !this.#socket.destroyed) await this.#heldLess();
        return;
      }
      case 'syn-stream': {
        const headers = await this.#blocksIn.read(frame.block);
        this.#begin(frame.streamId, headers, frame.fin);
        return this.#roomForReplies();
      }
      case 'syn-reply':
        await this.#blocksIn.read(frame.block);
        this.#openings.get(frame.streamId)?.accepted();
        if (frame.fin) this.#streams.get(frame.streamId)?.endFromPeer();
        return;
      case 'headers':
        await this.#blocksIn.read(frame.block);
        if (frame.fin) this.#streams.get(frame.streamId)?.endFromPeer();
        return;
      case 'rst-stream': {
        const error = new Error(`the peer reset the stream (status ${frame.status})`);
        this.#openings.get(frame.streamId)?.refused(error);
        const stream = this.#streams.get(frame.streamId);
        this.#streams.delete(frame.streamId);
        stream?.cut(error);
        return;
      }
      case 'ping': {
        // Recipients return a ping of the peer (section 2.6.5).
        const own = frame.id % 2 === this.#nextPingId % 2;
        if (!own) this.#write(pingFrame(frame.id));
        this.#pings.get(frame.id)?.();
        this.#pings.delete(frame.id);
        return this.#roomForReplies();
      }
      case 'go-away':
        this.#goingAway = true;
        return;
      case 'settings':
        if (frame.initialWindowBytes === undefined || this.#peerWindowBytes !== undefined) return;
        this.#peerWindowBytes = frame.initialWindowBytes;
        for (const stream of this.#streams.values()) stream.setInitialSendWindow(frame.initialWindowBytes);
        return;
      case 'window-update':
        this.#streams.get(frame.streamId)?.growSendWindow(frame.deltaBytes);
        return;
    }
  }

  /** The draft asks for a session error when the id is lower than an earlier one (section 2.3.2); a reset is enough here. */
  #begin(id: number, headers: SpdyHeaders, fin: boolean): void {
    const ours = id % 2 === this.#nextStreamId % 2;
    if (ours || id <= this.#lastPeerStreamId) {
      this.#write(rstStreamFrame(id, RstStatus.protocolError));
      return;
    }
    this.#lastPeerStreamId = id;
    const { onStream } = this.#options;
    if (onStream === undefined || this.#goingAway || this.#streams.size >= spdyLimits.streams) {
      this.#write(rstStreamFrame(id, RstStatus.refusedStream));
      return;
    }
    const stream = new SpdyStream(id, headers, this);
    this.#add(stream);
    onStream(stream);
    if (fin) stream.endFromPeer();
  }

  #add(stream: SpdyStream): void {
    this.#streams.set(stream.id, stream);
    // Frames of the last chunk are handled after the socket has closed.
    if (this.#socket.destroyed) stream.release();
    if (this.#peerWindowBytes !== undefined) stream.setInitialSendWindow(this.#peerWindowBytes);
  }

  /** Bounds the control frames that we queue for a peer that does not read. */
  async #roomForReplies(): Promise<void> {
    if (this.#waitingReplies >= spdyLimits.waitingReplies) await this.#drain();
  }

  /** Resolves when streams may buffer less than before, or the connection has ended. */
  #heldLess(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenHeldLess = resolve;
    });
  }

  #destroyAfter(delayMs: number): void {
    this.#endTimer?.cancel();
    if (this.#over) return;
    this.#endTimer = this.#options.clock.setTimer(delayMs, () => this.#socket.destroy());
  }

  async #send(parts: readonly Buffer[]): Promise<void> {
    this.#socket.cork();
    for (const part of parts) this.#writeBytes(part);
    this.#socket.uncork();
    if (this.#socket.writableNeedDrain) await this.#drain();
  }

  /** Writes a control frame. */
  #write(bytes: Buffer): void {
    this.#writeBytes(bytes);
    if (this.#socket.writableNeedDrain) this.#waitingReplies++;
    else this.#waitingReplies = 0;
  }

  #writeBytes(bytes: Buffer): void {
    if (this.#over || this.#socket.destroyed || this.#socket.writableEnded) return;
    this.#idleness.touch();
    this.#socket.write(bytes);
  }

  #drain(): Promise<void> {
    // All streams share one wait for the socket.
    this.#drained ??= writableRoom(this.#socket).finally(() => {
      this.#drained = undefined;
      this.#waitingReplies = 0;
    });
    return this.#drained;
  }
}
