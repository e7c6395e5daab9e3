/** One process of a kubelet: while it lives its calls and timers pass; when it dies nothing of it reaches anybody. */
import { setMaxListeners } from 'node:events';
import { type Clock, linkedController, type Timer, type VirtualClock } from '../../src/async/index.js';
import type { Journal } from '../journal.js';
import type { PortName } from '../plan/step.js';
import type { Director } from './director.js';

export interface ProcessOptions {
  readonly clock: VirtualClock;
  readonly journal: Journal;
  readonly director: Director;
  /** Called once when it dies by a fault. */
  readonly onDeath: () => void;
}

/** What one port knows of one call. */
export interface PortCall<T> {
  readonly port: PortName;
  readonly name: string;
  /** What it is about, for the hash. */
  readonly about: string;
  readonly isChange: boolean;
  /** Whether something on the way may repeat it. */
  readonly isRepeatable: boolean;
  readonly signal: AbortSignal | undefined;
  readonly effect: (signal: AbortSignal | undefined) => Promise<T> | T;
  readonly failure: (code: string) => Error;
  readonly lostAnswer: () => Error;
  /** How long the caller's client waits for an answer; absent: its signal ends it. */
  readonly patienceMs?: number;
  /** The error of a call whose caller gave up. */
  readonly givenUp: () => Error;
}

export class KubeletProcess {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly #world: VirtualClock;
  readonly #director: Director;
  readonly #onDeath: () => void;
  readonly #timers = new Set<Timer>();
  readonly #ending = new AbortController();
  #alive = true;
  /** Calls whose answer has not come. */
  pendingCalls = 0;

  constructor({ clock, journal, director, onDeath }: ProcessOptions) {
    this.#world = clock;
    this.journal = journal;
    this.#director = director;
    this.#onDeath = onDeath;
    // Every call that waits listens to it.
    setMaxListeners(0, this.#ending.signal);
    this.clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      setTimer: (delayMs, fire) => this.#setTimer(delayMs, fire),
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Aborted when it dies: the other side of its connections notices. */
  get ended(): AbortSignal {
    return this.#ending.signal;
  }

  /** The end as by SIGKILL: timers do not fire, and no call comes back or goes out. */
  die(): void {
    if (!this.#alive) return;
    this.#alive = false;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#ending.abort();
    this.#onDeath();
  }

  async call<T>(call: PortCall<T>): Promise<T> {
    if (!this.#alive) return never();
    const { journal } = this;
    journal.event('arrival', call.name, this.#world.monotonic());
    journal.text(call.about);
    const { effect, death } = this.#director.verdict(call.port, call.name, call.isChange);
    this.pendingCalls++;
    try {
      if (effect === undefined && death === undefined) return await call.effect(call.signal);
      journal.event('fault', effect?.do ?? 'die', this.#world.monotonic());
      if (death === 'before') this.die();
      if (!this.#alive) return await never();
      const outcome = this.#faulty(call, effect);
      if (death === 'after') {
        // What it asked for is under way, and it does not hear of the outcome.
        outcome.catch(() => undefined);
        this.die();
      }
      return await outcome;
    } finally {
      if (!this.#alive) await never();
      this.pendingCalls--;
      journal.event('answer', call.name, this.#world.monotonic());
    }
  }

  async #faulty<T>(call: PortCall<T>, effect: PortCallEffect): Promise<T> {
    switch (effect?.do) {
      case undefined:
        return call.effect(call.signal);
      case 'fail':
        throw call.failure(effect.code);
      case 'lose':
        await call.effect(call.signal);
        throw call.lostAnswer();
      case 'delay':
        await this.#takeTime(effect.ms, call);
        return call.effect(call.signal);
      case 'late': {
        const answer = await call.effect(call.signal);
        await this.#takeTime(effect.ms, call);
        return answer;
      }
      case 'hang':
        await this.#wait(call.patienceMs, call);
        // Without anybody who gives up it is answered when the other side comes back.
        if (call.patienceMs === undefined && call.signal?.aborted !== true) return call.effect(call.signal);
        throw call.givenUp();
      case 'twice': {
        const first = await call.effect(call.signal);
        return call.isRepeatable ? call.effect(call.signal) : first;
      }
    }
  }

  /** Who waits longer than its patience gives up. */
  async #takeTime<T>(ms: number, call: PortCall<T>): Promise<void> {
    const { patienceMs = ms } = call;
    await this.#wait(Math.min(ms, patienceMs), call);
    if (patienceMs < ms) throw call.givenUp();
  }

  /** Ends with the time, with the calm when there is no time, or with the caller. */
  #wait<T>(ms: number | undefined, call: PortCall<T>): Promise<void> {
    const { signal } = call;
    return new Promise((resolve, reject) => {
      let timer: Timer | undefined;
      const finish = (settle: () => void): void => {
        timer?.cancel();
        signal?.removeEventListener('abort', onAbort);
        settle();
      };
      const onAbort = (): void => finish(() => reject(call.givenUp()));
      if (signal?.aborted) return onAbort();
      signal?.addEventListener('abort', onAbort, { once: true });
      // What a dead process was about to do to its own machine never happens; what it sent to others may still arrive.
      const goOn = (): void => {
        if (this.#alive || remote.has(call.port)) finish(resolve);
      };
      if (ms === undefined) void this.#director.calm.then(goOn);
      else timer = this.#world.setTimer(ms, goOn);
      return undefined;
    });
  }

  #setTimer(delayMs: number, fire: () => void): Timer {
    if (!this.#alive) return { cancel: () => undefined };
    const timer: Timer = this.#world.setTimer(delayMs, () => {
      this.#timers.delete(handle);
      this.journal.event('timer', '', this.#world.monotonic());
      fire();
    });
    const handle: Timer = {
      cancel: () => {
        this.#timers.delete(handle);
        timer.cancel();
      },
    };
    this.#timers.add(handle);
    return handle;
  }
}

/** Reads a stream for a process: whoever serves it notices its death, and the process never hears of that. */
export async function* untilDeath<T>(
  process: KubeletProcess,
  signal: AbortSignal | undefined,
  open: (signal: AbortSignal) => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  if (!process.alive) await never();
  const { controller, unlink } = linkedController(signal, process.ended);
  const stream = open(controller.signal)[Symbol.asyncIterator]();
  // The reader may be busy with an earlier message.
  const onEnd = (): void => void stream.return?.().catch(() => undefined);
  process.ended.addEventListener('abort', onEnd, { once: true });
  try {
    for (;;) {
      const next = await stream.next();
      if (!process.alive) await never();
      if (next.done === true) return;
      yield next.value;
    }
  } catch (error) {
    if (!process.alive) await never();
    throw error;
  } finally {
    process.ended.removeEventListener('abort', onEnd);
    unlink();
    await stream.return?.();
  }
}

/** What a call on its way reaches also without its caller. */
const remote: ReadonlySet<PortName> = new Set(['cri', 'api']);

type PortCallEffect = ReturnType<Director['verdict']>['effect'];

/** What a dead process waits for. */
export function never(): Promise<never> {
  return new Promise(() => undefined);
}
