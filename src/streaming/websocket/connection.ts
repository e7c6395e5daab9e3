/**
 * The server side of a WebSocket connection: receives parts of messages, sends messages, answers pings and closes in
 * order. Sections are those of RFC 6455.
 */
import type { Duplex } from 'node:stream';
import { asError, type Clock, type Timer } from '../../async/index.js';
import { IdleWatch } from '../idle-watch.js';
import { streamingLimits } from '../limits.js';
import { writableRoom } from '../writable-room.js';
import {
  CloseCode,
  closePayload,
  encodeFrame,
  type MessagePart,
  Opcode,
  WebSocketError,
  WebSocketFrameReader,
} from './frames.js';

export interface WebSocketConnectionOptions {
  readonly socket: Duplex;
  /** The bytes that followed the HTTP request. */
  readonly head: Buffer;
  readonly clock: Clock;
  /** Ends the connection when it was idle for this long. Default: never. */
  readonly idleTimeoutMs?: number;
  /** The next part is read when the returned promise resolves. An error ends the connection. */
  readonly onMessage: (part: MessagePart) => Promise<void> | undefined;
}

export class WebSocketConnection {
  /** Resolves when the connection has ended for any reason. */
  readonly closed: Promise<void>;
  readonly #options: WebSocketConnectionOptions;
  readonly #socket: Duplex;
  readonly #idleness: IdleWatch;
  #closing = false;
  #problem: Error | undefined;
  #endTimer: Timer | undefined;
  /** The payload of the newest ping that is not answered, because the peer does not read. */
  #unansweredPing: Buffer | undefined;

  constructor(options: WebSocketConnectionOptions) {
    this.#options = options;
    this.#socket = options.socket;
    this.#idleness = new IdleWatch({
      clock: options.clock,
      idleTimeoutMs: options.idleTimeoutMs,
      onIdle: (reason) => this.destroy(reason),
    });
    this.#socket.on('error', (error) => {
      this.#problem ??= error;
    });
    if (options.head.length > 0) this.#socket.unshift(options.head);
    this.closed = this.#run();
  }

  /** Why the connection ended before `close`. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  /** Resolves when the socket has room for more. Drops messages after the end. */
  async send(data: Buffer, binary: boolean): Promise<void> {
    if (this.#closing) return;
    this.#write(binary ? Opcode.binary : Opcode.text, data);
    if (this.#socket.writableNeedDrain) await writableRoom(this.#socket);
  }

  /** Sends a close frame and resolves when the connection has ended (sections 5.5.1 and 7.1). */
  close(code: number = CloseCode.normal): Promise<void> {
    if (!this.#closing && !this.#socket.destroyed) {
      this.#write(Opcode.close, closePayload(code));
      this.#closing = true;
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

  async #run(): Promise<void> {
    const frames = new WebSocketFrameReader({ fromClient: true });
    try {
      for await (const chunk of this.#socket.iterator({ destroyOnReturn: false })) {
        this.#idleness.touch();
        if (this.#closing) continue;
        // A socket without an encoding yields buffers.
        for (const event of frames.read(chunk as Buffer)) {
          if (event.kind === 'message') await this.#options.onMessage(event);
          else if (event.kind === 'ping') this.#answer(event.data);
          else if (event.kind === 'close') {
            // Answers the close frame (section 5.5.1). Not awaited: it resolves with the end of this loop.
            void this.close(event.code ?? CloseCode.normal);
          }
        }
      }
    } catch (error) {
      this.#problem ??= asError(error);
      if (error instanceof WebSocketError) this.#write(Opcode.close, closePayload(error.code));
    } finally {
      this.#closing = true;
      this.#idleness.stop();
      this.#endTimer?.cancel();
      if (this.#socket.writable) {
        // Lets the peer read a last close frame before the socket is destroyed.
        this.#destroyAfter(streamingLimits.closeLingerMs);
        this.#socket.once('close', () => this.#endTimer?.cancel());
        this.#socket.end(() => this.#socket.destroy());
      } else this.#socket.destroy();
    }
  }

  #destroyAfter(delayMs: number): void {
    this.#endTimer?.cancel();
    if (this.#socket.destroyed) return;
    this.#endTimer = this.#options.clock.setTimer(delayMs, () => this.#socket.destroy());
  }

  /** A peer that does not read gets one pong when it reads again, for its newest ping (section 5.5.3). */
  #answer(ping: Buffer): void {
    if (!this.#socket.writableNeedDrain) {
      this.#write(Opcode.pong, ping);
      return;
    }
    if (this.#unansweredPing === undefined) {
      void writableRoom(this.#socket).then(() => {
        const newest = this.#unansweredPing;
        this.#unansweredPing = undefined;
        if (newest !== undefined) this.#write(Opcode.pong, newest);
      });
    }
    // A copy, so that it does not keep the whole chunk alive.
    this.#unansweredPing = Buffer.from(ping);
  }

  #write(opcode: number, data: Buffer): void {
    if (this.#closing || this.#socket.destroyed || this.#socket.writableEnded) return;
    this.#idleness.touch();
    this.#socket.cork();
    for (const part of encodeFrame(opcode, data)) this.#socket.write(part);
    this.#socket.uncork();
  }
}
