/** The system bus of the machine: one connection that is made by the first who needs it, and again after a loss. */
import { Cancelled, type Clock, errorText, isCancelled, sleep } from '../async/index.js';
import { systemBusSockets, systemdPrivateSocket } from './address.js';
import type { CallHandler, DbusCall, DbusCallOptions } from './calls.js';
import { connectDbus, type DbusConnection } from './connection.js';
import { DbusDisconnected } from './errors.js';
import { dbusLimits } from './limits.js';
import type { DbusValue } from './values.js';

export interface OpenSystemBusOptions {
  readonly clock: Clock;
  /** Names the bus by `DBUS_SYSTEM_BUS_ADDRESS`. */
  readonly environment: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
  readonly onCall?: CallHandler;
}

const busyTries = 7;
const firstBusyPauseMs = 100;

/** A connection of the caller's own. */
export async function openSystemBus(options: OpenSystemBusOptions): Promise<DbusConnection> {
  const { environment, ...others } = options;
  const failures: unknown[] = [];
  for (const socketPath of systemBusSockets(environment)) {
    try {
      return await connectPatiently({ ...others, socketPath, isBus: true });
    } catch (error) {
      if (isCancelled(error)) throw error;
      failures.push(error);
    }
  }
  throw failures[0];
}

/** A server whose queue of connections is full says EAGAIN. */
async function connectPatiently(options: Parameters<typeof connectDbus>[0]): Promise<DbusConnection> {
  for (let left = busyTries, pauseMs = firstBusyPauseMs; ; pauseMs *= 2) {
    try {
      return await connectDbus(options);
    } catch (error) {
      left -= 1;
      if (left === 0 || !(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
      await sleep(options.clock, pauseMs, options.signal);
    }
  }
}

export interface SystemBusOptions {
  readonly clock: Clock;
  readonly environment: NodeJS.ProcessEnv;
  /** systemd's own socket, for root where there is no bus; tests have one elsewhere. */
  readonly privateSocketPath?: string;
  readonly isRoot?: boolean;
}

export class SystemBus {
  readonly #options: SystemBusOptions;
  readonly #stopped = new AbortController();
  #connection: Promise<DbusConnection> | undefined;

  constructor(options: SystemBusOptions) {
    this.#options = options;
  }

  call(call: DbusCall, options: DbusCallOptions = {}): Promise<readonly DbusValue[]> {
    return this.run((connection) => connection.call(call, options), options.signal);
  }

  /**
   * Does the work on the connection. Work whose connection is lost under it is done again on a new one, as often as
   * `dbusLimits.repeats`; any other failure is the caller's.
   */
  async run<T>(work: (connection: DbusConnection) => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (let repeats = 0; ; repeats++) {
      const connection = await this.#connected(signal);
      try {
        return await work(connection);
      } catch (error) {
        if (
          !(error instanceof DbusDisconnected) ||
          repeats === dbusLimits.repeats ||
          this.#stopped.signal.aborted
        )
          throw error;
        // The first repetition is at once; a bus that closes every connection is asked more and more seldom.
        if (repeats > 0)
          await sleep(this.#options.clock, firstBusyPauseMs * 2 ** repeats, this.#until(signal));
      }
    }
  }

  /** Ends the connection and every call on it. */
  async close(): Promise<void> {
    this.#stopped.abort();
    const opening = this.#connection;
    if (opening === undefined) return;
    // A failure to connect was told to those who wanted the connection.
    await opening.then(
      (connection) => connection.close(),
      () => undefined,
    );
  }

  /** Aborts with the caller or with the bus. */
  #until(signal: AbortSignal | undefined): AbortSignal {
    const stopped = this.#stopped.signal;
    return signal === undefined ? stopped : AbortSignal.any([signal, stopped]);
  }

  /** All callers share one attempt to connect; a caller that is cancelled leaves it to the others. */
  async #connected(signal: AbortSignal | undefined): Promise<DbusConnection> {
    if (signal?.aborted || this.#stopped.signal.aborted) throw new Cancelled();
    this.#connection ??= this.#open();
    return cancellable(this.#connection, signal);
  }

  async #open(): Promise<DbusConnection> {
    try {
      const connection = await this.#openAny();
      void connection.closed.then(() => {
        this.#connection = undefined;
      });
      return connection;
    } catch (error) {
      this.#connection = undefined;
      throw error;
    }
  }

  async #openAny(): Promise<DbusConnection> {
    const { clock, environment, privateSocketPath = systemdPrivateSocket } = this.#options;
    const { isRoot = process.geteuid?.() === 0 } = this.#options;
    const { signal } = this.#stopped;
    try {
      return await openSystemBus({ clock, environment, signal });
    } catch (error) {
      if (isCancelled(error)) throw error;
      const failed = new Error(
        `failed to connect to dbus (hint: for rootless containers, maybe you need to install dbus-user-session package): ${errorText(error)}`,
        { cause: error },
      );
      if (!isRoot) throw failed;
      try {
        return await connectPatiently({ clock, signal, socketPath: privateSocketPath, isBus: false });
      } catch (privateError) {
        // The bus is what an administrator mends.
        throw isCancelled(privateError) ? privateError : failed;
      }
    }
  }
}

function cancellable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(new Cancelled());
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
