/** Opens a socket to a D-Bus server and gets this process accepted there. */
import { connect, type Socket } from 'node:net';
import { asError, Cancelled } from '../async/index.js';
import { firstAuthLine, nextAuthStep } from './auth.js';
import { DbusAuthRefused } from './errors.js';
import { dbusLimits } from './limits.js';

export interface AcceptedSocket {
  readonly socket: Socket;
  /** What the server sent after it accepted us. */
  readonly firstBytes: Buffer;
}

/** Rejects, with the socket closed, when the signal aborts. The accepted socket is paused. */
export function openSocket(socketPath: string, uid: number, signal: AbortSignal): Promise<AcceptedSocket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(new Cancelled());
      return;
    }
    const socket = connect({ path: socketPath });
    const conversation = new Conversation(uid);
    const settle = (): void => {
      signal.removeEventListener('abort', onAbort);
      socket.removeAllListeners();
    };
    const fail = (error: unknown): void => {
      settle();
      // A destroyed socket may still report an error.
      socket.on('error', () => undefined);
      socket.destroy();
      reject(asError(error));
    };
    const onAbort = (): void => fail(new Cancelled());
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('error', fail);
    socket.on('close', () => fail(new DbusAuthRefused('the D-Bus server closed the connection unasked')));
    // The zero byte carries the credentials where the kernel does not tell them by itself.
    socket.on('connect', () => socket.write(`\0${firstAuthLine(uid)}\r\n`));
    socket.on('data', (chunk) => {
      try {
        const { lines, rest } = conversation.read(chunk);
        for (const line of lines) socket.write(`${line}\r\n`);
        if (rest === undefined) return;
        socket.pause();
        settle();
        resolve({ socket, firstBytes: rest });
      } catch (error) {
        fail(error);
      }
    });
  });
}

/** The lines of the authentication, in the chunks in which they come. */
class Conversation {
  readonly #uid: number;
  #kept: Buffer = Buffer.alloc(0);
  #state: 'named' | 'unnamed' = 'named';
  #lines = 0;

  constructor(uid: number) {
    this.#uid = uid;
  }

  /** The lines to send, and what came after the server accepted us, once it has. */
  read(chunk: Buffer): { readonly lines: readonly string[]; readonly rest: Buffer | undefined } {
    this.#kept = Buffer.concat([this.#kept, chunk]);
    const lines: string[] = [];
    for (;;) {
      const end = this.#kept.indexOf('\r\n');
      if (end > dbusLimits.authLineBytes || (end < 0 && this.#kept.length > dbusLimits.authLineBytes))
        throw new DbusAuthRefused(
          `the server answered a line of more than ${dbusLimits.authLineBytes} bytes`,
        );
      if (end < 0) return { lines, rest: undefined };
      const line = this.#kept.toString('latin1', 0, end);
      this.#kept = this.#kept.subarray(end + 2);
      this.#lines += 1;
      if (this.#lines > dbusLimits.authLines)
        throw new DbusAuthRefused(`the server did not decide within ${dbusLimits.authLines} lines`);
      const step = nextAuthStep(this.#state, line);
      if (step.kind === 'refused')
        throw new DbusAuthRefused(`the D-Bus server refused the user id ${this.#uid}: ${step.why}`);
      if (step.kind === 'accepted') return { lines: [...lines, 'BEGIN'], rest: this.#kept };
      this.#state = step.state;
      lines.push(step.line);
    }
  }
}
