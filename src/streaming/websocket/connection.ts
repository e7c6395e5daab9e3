/** The server's side of a WebSocket: messages in, messages out, pings answered, an orderly end. */
import type { Duplex } from 'node:stream';
import { asError, type Clock, type Timer } from '../../async/index.js';
import { IdleWatch } from '../idle-watch.js';
import { writableRoom } from '../writable-room.js';
import { CloseCode, closePayload, encodeFrame, MessageReader, Opcode, WebSocketError } from './frames.js';

export interface WebSocketConnectionOptions {
  readonly socket: Duplex;
  /** What came after the head of the HTTP message. */
  readonly head: Buffer;
  readonly clock: Clock;
  /** Ends the connection when nothing came or went for so long; default never. */
  readonly idleTimeoutMs?: number;
  /** The next message waits for what it returns; throwing ends the connection. */
  readonly onMessage: (data: Buffer, binary: boolean) => Promise<void> | undefined;
}

/** How long the peer may take to answer our close. */
const lingerMs = 10_000;
const backlogBytes = 1024 * 1024;

export class WebSocketConnection {
  /** Resolves when the connection is gone, for whatever reason. */
  readonly closed: Promise<void>;
  readonly #options: WebSocketConnectionOptions;
  readonly #socket: Duplex;
  readonly #idleness: IdleWatch;
  #closing = false;
  #problem: Error | undefined;
  #lingerTimer: Timer | undefined;

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

  /** Why the connection ended before anybody closed it. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  /** Resolves when there is room for more; what is sent after the end is dropped. */
  async send(data: Buffer, binary: boolean): Promise<void> {
    if (this.#closing) return;
    this.#write(binary ? Opcode.binary : Opcode.text, data);
    if (this.#socket.writableNeedDrain) await writableRoom(this.#socket);
  }

  /** Resolves when the connection is gone. */
  close(code: number = CloseCode.normal): Promise<void> {
    if (!this.#closing && !this.#socket.destroyed) {
      this.#write(Opcode.close, closePayload(code));
      this.#closing = true;
      this.#socket.end(() => {
        if (this.#socket.destroyed) return;
        this.#lingerTimer = this.#options.clock.setTimer(lingerMs, () => this.#socket.destroy());
      });
    }
    return this.closed;
  }

  /** Ends the connection at once. */
  destroy(reason: Error): void {
    this.#problem ??= reason;
    this.#socket.destroy();
  }

  async #run(): Promise<void> {
    const messages = new MessageReader({ fromClient: true });
    try {
      for await (const chunk of this.#socket.iterator({ destroyOnReturn: false })) {
        this.#idleness.touch();
        if (this.#closing) continue;
        // A socket without an encoding gives bytes.
        for (const message of messages.read(chunk as Buffer)) {
          if (message.kind === 'message') await this.#options.onMessage(message.data, message.binary);
          else if (message.kind === 'ping') this.#write(Opcode.pong, message.data);
          else if (message.kind === 'close') {
            // Not awaited: the end of the socket, which this loop sees, is what it resolves with.
            void this.close(message.code ?? CloseCode.normal);
          }
          if (this.#socket.writableLength > backlogBytes) await writableRoom(this.#socket);
        }
      }
    } catch (error) {
      this.#problem ??= asError(error);
      if (error instanceof WebSocketError) this.#write(Opcode.close, closePayload(error.code));
    } finally {
      this.#closing = true;
      this.#idleness.stop();
      this.#lingerTimer?.cancel();
      // Lets a last close frame out before the socket goes.
      if (this.#socket.writable) this.#socket.end(() => this.#socket.destroy());
      else this.#socket.destroy();
    }
  }

  #write(opcode: number, data: Buffer): void {
    if (this.#closing || this.#socket.destroyed || this.#socket.writableEnded) return;
    this.#idleness.touch();
    this.#socket.cork();
    for (const part of encodeFrame(opcode, data)) this.#socket.write(part);
    this.#socket.uncork();
  }
}
