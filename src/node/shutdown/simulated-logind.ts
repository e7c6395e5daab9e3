/** A logind for simulated machines: its locks, delays and losses are what a test says. */
import { throwIfCancelled } from '../../async/index.js';
import type { InhibitLock, Logind, LogindConnection } from './logind.js';

export interface SimulatedLogindOptions {
  /** Default: 5 s, as logind has it. */
  readonly inhibitDelayMaxMs?: number;
  /** The delay after logind has read its configuration again; default: as before. */
  readonly onReload?: () => Promise<number>;
}

interface Held {
  readonly reportLost: (why: string) => void;
}

export class SimulatedLogind implements Logind {
  /** What clients asked for, in order. */
  readonly calls: string[] = [];
  /** Why a connection, or a lock, is refused; undefined while they are given. */
  connectRefusal: string | undefined;
  inhibitRefusal: string | undefined;
  #delayMs: number;
  readonly #onReload: SimulatedLogindOptions['onReload'];
  readonly #locks = new Set<Held>();
  readonly #connections = new Map<(why: string) => void, (isBegun: boolean) => void>();

  constructor({ inhibitDelayMaxMs = 5_000, onReload }: SimulatedLogindOptions = {}) {
    this.#delayMs = inhibitDelayMaxMs;
    this.#onReload = onReload;
  }

  get heldLocks(): number {
    return this.#locks.size;
  }

  get openConnections(): number {
    return this.#connections.size;
  }

  /** Sends PrepareForShutdown. */
  prepare(isBegun: boolean): void {
    for (const hear of this.#connections.values()) hear(isBegun);
  }

  /** The bus goes away with every connection. */
  loseBus(): void {
    for (const report of [...this.#connections.keys()]) report('the bus is gone');
  }

  /** The holder of a lock dies. */
  loseLocks(): void {
    for (const lock of [...this.#locks]) {
      this.#locks.delete(lock);
      lock.reportLost('the holder of the lock ended');
    }
  }

  async connect(prepare: (isBegun: boolean) => void, signal: AbortSignal): Promise<LogindConnection> {
    throwIfCancelled(signal);
    this.calls.push('connect');
    if (this.connectRefusal !== undefined) throw new Error(this.connectRefusal);
    let reportLost = (_why: string): void => undefined;
    const lost = new Promise<string>((resolve) => {
      reportLost = resolve;
    });
    const close = (why: string): void => {
      this.#connections.delete(close);
      reportLost(why);
    };
    this.#connections.set(close, prepare);
    return {
      lost,
      close: () => close('closed'),
      inhibitDelayMaxMs: async () => {
        this.calls.push('read');
        return this.#delayMs;
      },
      reloadConfiguration: async () => {
        this.calls.push('reload');
        this.#delayMs = (await this.#onReload?.()) ?? this.#delayMs;
      },
      inhibit: () => this.#inhibit(),
    };
  }

  async #inhibit(): Promise<InhibitLock> {
    this.calls.push('inhibit');
    if (this.inhibitRefusal !== undefined)
      throw new Error(`failed creating systemd inhibitor: ${this.inhibitRefusal}`);
    let reportLost = (_why: string): void => undefined;
    const lost = new Promise<string>((resolve) => {
      reportLost = resolve;
    });
    const held: Held = { reportLost };
    this.#locks.add(held);
    return {
      lost,
      release: async () => {
        if (this.#locks.delete(held)) this.calls.push('release');
      },
    };
  }
}
