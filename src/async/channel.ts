/** A bounded first-in-first-out channel between tasks, and a fair select over several. */
import { Cancelled } from './clock.js';

export type Received<T> = { readonly done: false; readonly value: T } | { readonly done: true };

export class ChannelClosed extends Error {
  override readonly name = 'ChannelClosed';
}

interface Sender<T> {
  readonly value: T;
  readonly accept: () => void;
  readonly refuse: (error: Error) => void;
}

/** The part of a channel that `select` needs. */
export interface Selectable {
  readonly ready: boolean;
  /** Calls back once, when a value can be received or the channel is closed. Returns how to unsubscribe. */
  whenReady(notify: () => void): () => void;
}

export class Channel<T> implements Selectable {
  readonly capacity: number;
  readonly #buffer: T[] = [];
  readonly #senders: Sender<T>[] = [];
  readonly #watchers = new Set<() => void>();
  #closed = false;

  constructor(capacity: number) {
    if (!Number.isInteger(capacity) || capacity < 1)
      throw new RangeError('a channel needs room for at least one entry');
    this.capacity = capacity;
  }

  get size(): number {
    return this.#buffer.length;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get ready(): boolean {
    return this.#buffer.length > 0 || this.#closed;
  }

  whenReady(notify: () => void): () => void {
    if (this.ready) {
      notify();
      return () => {};
    }
    this.#watchers.add(notify);
    return () => void this.#watchers.delete(notify);
  }

  /** Sends the value if there is room; returns false if the channel is full or closed. */
  trySend(value: T): boolean {
    if (this.#closed || this.#buffer.length >= this.capacity) return false;
    this.#buffer.push(value);
    this.#notify();
    return true;
  }

  /** Sends the value, waiting for room. Rejects if the channel closes or the signal aborts first. */
  send(value: T, signal?: AbortSignal): Promise<void> {
    if (this.#closed) return Promise.reject(new ChannelClosed());
    if (signal?.aborted) return Promise.reject(new Cancelled());
    if (this.trySend(value)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        const index = this.#senders.indexOf(sender);
        if (index >= 0) this.#senders.splice(index, 1);
        reject(new Cancelled());
      };
      const sender: Sender<T> = {
        value,
        accept: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
        refuse: (error) => {
          signal?.removeEventListener('abort', onAbort);
          reject(error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#senders.push(sender);
    });
  }

  /** Takes the next value if there is one. A closed, drained channel returns done. */
  tryReceive(): Received<T> | undefined {
    if (this.#buffer.length > 0) {
      // The length was just checked, so the shifted entry exists even if T includes undefined.
      const value = this.#buffer.shift() as T;
      const sender = this.#senders.shift();
      if (sender !== undefined) {
        this.#buffer.push(sender.value);
        sender.accept();
      }
      return { done: false, value };
    }
    return this.#closed ? { done: true } : undefined;
  }

  async receive(signal?: AbortSignal): Promise<Received<T>> {
    for (;;) {
      const received = this.tryReceive();
      if (received !== undefined) return received;
      await select([this], signal);
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const sender of this.#senders.splice(0)) sender.refuse(new ChannelClosed());
    this.#notify();
  }

  #notify(): void {
    const watchers = [...this.#watchers];
    this.#watchers.clear();
    for (const notify of watchers) notify();
  }
}

/**
 * Waits until at least one channel is ready and returns its index. Among several ready channels the choice is
 * random, so no busy channel starves another.
 */
export function select(
  channels: readonly Selectable[],
  signal?: AbortSignal,
  random: () => number = Math.random,
): Promise<number> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(new Cancelled());
      return;
    }
    const forgets: (() => void)[] = [];
    let settled = false;
    const settle = (): boolean => {
      if (settled) return false;
      settled = true;
      for (const forget of forgets) forget();
      signal?.removeEventListener('abort', onAbort);
      return true;
    };
    const onAbort = (): void => {
      if (settle()) reject(new Cancelled());
    };
    const choose = (): void => {
      const ready = channels.flatMap((channel, index) => (channel.ready ? [index] : []));
      const chosen = ready.length > 1 ? ready[Math.floor(random() * ready.length)] : ready[0];
      if (chosen !== undefined && settle()) resolve(chosen);
    };
    if (channels.some((channel) => channel.ready)) {
      choose();
      return;
    }
    signal?.addEventListener('abort', onAbort, { once: true });
    for (const channel of channels) forgets.push(channel.whenReady(choose));
  });
}

/** As `select`, among channels with names; returns the name of the chosen one. */
export async function selectByName<N extends string>(
  channels: Readonly<Record<N, Selectable>>,
  signal?: AbortSignal,
  random?: () => number,
): Promise<N> {
  // The keys of a record are its names: no other can be among them, whatever `Object.keys` is typed as.
  const names = Object.keys(channels) as N[];
  const chosen =
    names[
      await select(
        names.map((name) => channels[name]),
        signal,
        random,
      )
    ];
  if (chosen === undefined) throw new Error('select chose a channel that it was not given');
  return chosen;
}
