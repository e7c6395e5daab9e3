/** One D-Bus connection: calls with replies, signals for those who asked for them, and answers to the calls of others. */
import type { Socket } from 'node:net';
import { asError, Cancelled, type Clock, errorText, TimedOut, withTimeout } from '../async/index.js';
import {
  busCall,
  type CallHandler,
  type DbusCall,
  type DbusCallOptions,
  type DbusConnectOptions,
  type DbusSignal,
  matchRule,
  type SignalMatch,
} from './calls.js';
import { DbusDisconnected, DbusError, DbusFormatError } from './errors.js';
import { type AcceptedSocket, openSocket } from './handshake.js';
import { dbusLimits } from './limits.js';
import { type DbusMessage, DbusMessageReader, encodeMessage, type OutgoingMessage } from './message.js';
import type { DbusValue } from './values.js';

export async function connectDbus(options: DbusConnectOptions): Promise<DbusConnection> {
  const { socketPath, isBus, clock, signal } = options;
  return withTimeout(clock, dbusLimits.connectMs, signal, async (limited) => {
    const accepted = await openSocket(socketPath, process.geteuid?.() ?? 0, limited);
    const connection = new DbusConnection(accepted, options);
    try {
      // A bus takes nothing else before this call.
      if (isBus) await connection.call(busCall('Hello'), { signal: limited });
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  });
}

interface PendingCall {
  settle(outcome: { readonly reply: DbusMessage } | { readonly error: Error }): void;
}

interface SignalListener {
  readonly match: SignalMatch;
  readonly heard: (body: readonly DbusValue[]) => void;
}

export class DbusConnection {
  /** Resolves with the reason when the connection has ended. */
  readonly closed: Promise<DbusDisconnected>;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #isBus: boolean;
  readonly #onCall: CallHandler | undefined;
  readonly #reader = new DbusMessageReader();
  readonly #pending = new Map<number, PendingCall>();
  readonly #listeners = new Set<SignalListener>();
  readonly #reportClosed: (reason: DbusDisconnected) => void;
  #incomingCalls = 0;
  #serial = 0;
  #end: DbusDisconnected | undefined;

  constructor({ socket, firstBytes }: AcceptedSocket, options: DbusConnectOptions) {
    this.#socket = socket;
    this.#clock = options.clock;
    this.#isBus = options.isBus;
    this.#onCall = options.onCall;
    let reportClosed = (_reason: DbusDisconnected): void => undefined;
    this.closed = new Promise((resolve) => {
      reportClosed = resolve;
    });
    this.#reportClosed = reportClosed;
    socket.on('error', (error) => this.#lose(errorText(error), error));
    socket.on('close', () => this.#lose('the other side closed it'));
    socket.on('data', (chunk) => this.#receive(chunk));
    if (firstBytes.length > 0) this.#receive(firstBytes);
    socket.resume();
  }

  get isOpen(): boolean {
    return this.#end === undefined;
  }

  /** The values of the reply. Rejects with DbusError, DbusDisconnected, TimedOut or Cancelled. */
  async call(call: DbusCall, options: DbusCallOptions = {}): Promise<readonly DbusValue[]> {
    return (await this.#replyTo(call, options)).readBody();
  }

  /** Has the listener called with the values of each signal until the returned function is called. */
  async listen(
    match: SignalMatch,
    heard: (body: readonly DbusValue[]) => void,
    options: DbusCallOptions = {},
  ): Promise<() => void> {
    const listener: SignalListener = { match, heard };
    this.#listeners.add(listener);
    try {
      if (this.#isBus) await this.call(busCall('AddMatch', 's', [matchRule(match)]), options);
    } catch (error) {
      this.#listeners.delete(listener);
      throw error;
    }
    return () => {
      if (!this.#listeners.delete(listener) || !this.#isBus || !this.isOpen) return;
      this.#send({
        ...busCall('RemoveMatch', 's', [matchRule(match)]),
        kind: 'call',
        isNoReply: true,
        serial: this.#nextSerial(),
      });
    };
  }

  emit(signal: DbusSignal): void {
    this.#send({ ...signal, kind: 'signal', isNoReply: true, serial: this.#nextSerial() });
  }

  close(): void {
    this.#lose('this side closed it');
  }

  #replyTo(call: DbusCall, { signal, timeoutMs = dbusLimits.callMs }: DbusCallOptions): Promise<DbusMessage> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(new Cancelled());
      if (this.#end !== undefined) return reject(this.#end);
      if (this.#pending.size >= dbusLimits.pendingCalls)
        return reject(new Error(`${dbusLimits.pendingCalls} D-Bus calls wait for their reply`));
      const serial = this.#nextSerial();
      const pending: PendingCall = {
        settle: (outcome) => {
          this.#pending.delete(serial);
          timer.cancel();
          signal?.removeEventListener('abort', onAbort);
          if ('error' in outcome) reject(outcome.error);
          else if (outcome.reply.kind === 'error') reject(errorOf(outcome.reply));
          else resolve(outcome.reply);
        },
      };
      const onAbort = (): void => pending.settle({ error: new Cancelled() });
      const timer = this.#clock.setTimer(timeoutMs, () =>
        pending.settle({ error: new TimedOut(`${call.member} had no reply on D-Bus after ${timeoutMs}ms`) }),
      );
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#pending.set(serial, pending);
      try {
        this.#send({ ...call, kind: 'call', serial });
      } catch (error) {
        pending.settle({ error: asError(error) });
      }
    });
  }

  #send(message: OutgoingMessage): void {
    const bytes = encodeMessage(message);
    if (this.#end !== undefined) throw this.#end;
    if (this.#socket.writableLength + bytes.length > dbusLimits.unsentBytes) {
      this.#lose(`the other side does not read: ${this.#socket.writableLength} bytes wait for it`);
      return;
    }
    this.#socket.write(bytes);
  }

  #receive(chunk: Buffer): void {
    try {
      for (const message of this.#reader.read(chunk)) {
        if (!this.isOpen) return;
        this.#dispatch(message);
      }
    } catch (error) {
      this.#lose(`the other side does not speak D-Bus: ${errorText(error)}`, error);
    }
  }

  #dispatch(message: DbusMessage): void {
    switch (message.kind) {
      case 'reply':
      case 'error':
        this.#pending.get(message.replySerial ?? 0)?.settle({ reply: message });
        return;
      case 'signal':
        this.#hear(message);
        return;
      case 'call':
        this.#answer(message);
        return;
    }
  }

  #hear(message: DbusMessage): void {
    // The bus filters by sender what it broadcasts, not what somebody sends to this connection alone.
    if (this.#isBus && message.destination !== undefined) return;
    for (const { match, heard } of [...this.#listeners]) {
      if (match.interface !== message.interface || match.member !== message.member) continue;
      if (match.path !== message.path) continue;
      const body = bodyOf(message);
      if (body !== undefined) heard(body);
    }
  }

  #answer(message: DbusMessage): void {
    const answer = (reply: Omit<OutgoingMessage, 'serial'>): void => {
      if (message.isNoReply || !this.isOpen) return;
      const to = { destination: message.sender, replySerial: message.serial };
      this.#send({ ...reply, ...to, serial: this.#nextSerial() });
    };
    const refuse = (errorName: string, text: string): void =>
      answer({ kind: 'error', errorName, signature: 's', body: [text.replaceAll('\0', ' ')] });
    const handle = this.#onCall;
    if (handle === undefined) {
      refuse('org.freedesktop.DBus.Error.UnknownMethod', 'this client serves nothing');
      return;
    }
    if (this.#incomingCalls >= dbusLimits.incomingCalls) {
      refuse('org.freedesktop.DBus.Error.LimitsExceeded', 'too many calls are under way');
      return;
    }
    this.#incomingCalls += 1;
    // The handler answers in its own time; both of its ends are handled here.
    void handle(message)
      .then((reply) => answer({ kind: 'reply', ...reply }))
      .catch((error: unknown) => {
        const name = error instanceof DbusError ? error.name : 'org.freedesktop.DBus.Error.Failed';
        if (this.isOpen) refuse(name, errorText(error));
      })
      .finally(() => {
        this.#incomingCalls -= 1;
      });
  }

  #nextSerial(): number {
    do this.#serial = (this.#serial % 0xffff_ffff) + 1;
    while (this.#pending.has(this.#serial));
    return this.#serial;
  }

  #lose(why: string, cause?: unknown): void {
    if (this.#end !== undefined) return;
    const end = new DbusDisconnected(`the D-Bus connection ended: ${why}`, { cause });
    this.#end = end;
    this.#socket.destroy();
    for (const pending of [...this.#pending.values()]) pending.settle({ error: end });
    this.#listeners.clear();
    this.#reportClosed(end);
  }
}

function errorOf(message: DbusMessage): DbusError {
  const text = bodyOf(message)?.[0];
  return new DbusError(message.errorName ?? '', typeof text === 'string' ? text : undefined);
}

/** Undefined where the body is malformed, or beyond the limits. */
function bodyOf(message: DbusMessage): readonly DbusValue[] | undefined {
  try {
    return message.readBody();
  } catch (error) {
    if (error instanceof DbusFormatError) return undefined;
    throw error;
  }
}
