/** Stands between a kubelet and a record: gives it what came in then, turn by turn, and compares what it does. */
import { BoundedMap, type Clock, errorText, type Timer, textBytes } from '../async/index.js';
import type { Outside } from '../kubelet/index.js';
import type { TimelineEntry } from '../timeline/index.js';
import { answersKept, shortestKept } from './answer-book.js';
import { changedList, type ListTexts, listOfTexts } from './answer-lists.js';
import { type Difference, Differences } from './differences.js';
import {
  type CallSite,
  type Input,
  type Output,
  readValue,
  siteKey,
  type TimerKey,
  type TurnTime,
} from './entries.js';
import { identityOf } from './identity.js';
import { type KnownCall, KnownCalls } from './known-calls.js';
import { recordLimits } from './limits.js';
import { asWritten, writesVolume } from './masks.js';
import { madeOfShape, type PortShape } from './shape.js';
import { whenSettled } from './turns.js';

/** One turn of a record: what came in, and what the kubelet did then. */
export interface RecordedTurn {
  readonly input: Input;
  readonly outputs: readonly Output[];
}

export interface PlayerOptions {
  /** What is done in turns that the world began, by name. */
  readonly go: (name: string) => void;
}

export class Player {
  readonly clock: Clock;
  readonly outside: Outside;
  readonly differences = new Differences();
  /** A reader of the timeline of the replayed kubelet. */
  readonly said: (entry: TimelineEntry) => void;
  readonly #go: (name: string) => void;
  readonly #calls = new KnownCalls();
  readonly #answers = new BoundedMap<string, string | ListTexts>({
    ...answersKept,
    bytesOf: (key, kept) => textBytes(key, ...(typeof kept === 'string' ? [kept] : kept.texts)),
  });
  readonly #written = new BoundedMap<string, unknown>({ maxEntries: recordLimits.rememberedFiles });
  readonly #shapes = new Map<string, PortShape[]>();
  readonly #timers = new Map<string, () => void>();
  readonly #timersOfTurn = new Map<number, number>();
  #turn = 0;
  #time: TurnTime = [0, 0];
  #said: TimelineEntry[] = [];

  constructor({ go }: PlayerOptions) {
    this.#go = go;
    this.clock = {
      now: () => this.#time[0],
      monotonic: () => this.#time[1],
      setTimer: (delayMs, fire) => this.#setTimer(delayMs, fire),
    };
    this.outside = { clock: this.clock, timeline: (timeline) => timeline, port: (name) => this.#port(name) };
    this.said = (entry) => void this.#said.push(entry);
  }

  /** How many turns were replayed, or are being replayed. */
  get turn(): number {
    return this.#turn;
  }

  /** The kubelet could not be made. */
  failed(error: unknown): void {
    this.#differ('entry', 'nothing', `the kubelet cannot be made: ${errorText(error)}`);
  }

  /** Replays one turn and compares what was done in it. Returns what the timeline was told. */
  async play({ input, outputs }: RecordedTurn): Promise<readonly TimelineEntry[]> {
    this.#turn++;
    this.#time = input.t;
    this.#timersOfTurn.clear();
    const expected: TimelineEntry[] = [];
    for (const output of outputs) {
      if (output.k === 'say') expected.push(output.v);
      else if (output.k === 'do') this.#calls.expect(output);
      else this.#shapes.set(output.p, [...(this.#shapes.get(output.p) ?? []), output.h]);
    }
    await this.#settledAfter(() => this.#deliver(input));
    await this.#stragglers(expected.length);
    const said = this.#said;
    this.#said = [];
    this.differences.compareEntries(this.#place(), expected, said);
    this.#calls.endTurn((recorded, now) => this.#differ('call', recorded, now));
    return said;
  }

  #settledAfter(deliver: () => void): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        whenSettled(resolve);
        deliver();
      });
    });
  }

  /** Code that is loaded when it is needed is no input of the record, and takes its time. */
  async #stragglers(entries: number): Promise<void> {
    if (this.differences.count > 0) return;
    const endMs = performance.now() + recordLimits.straggleMs;
    while ((!this.#calls.areAllMade || this.#said.length < entries) && performance.now() < endMs)
      await new Promise((resolve) => setTimeout(resolve, 1));
  }

  #deliver(input: Input): void {
    switch (input.k) {
      case 'go':
        this.#go(input.n);
        return;
      case 'ok': {
        const value = this.#answerOf(input, this.#calls.waiting(input.c));
        this.#calls.answer(input.c, (claim) => claim.resolve(this.#filled(value, claim.args)));
        return;
      }
      case 'no': {
        const error = readValue(input.v);
        this.#calls.answer(input.c, (claim) => claim.reject(error));
        return;
      }
      case 'cb':
        this.#callBack(input);
        return;
      case 'at':
        this.#fire(input.m);
    }
  }

  /** What is repeated is known by what was asked. */
  #answerOf({ c, h, r, l, v }: Extract<Input, { k: 'ok' }>, known: KnownCall | undefined): unknown {
    if (h !== undefined) return this.#made(`#${c}`, h);
    const key = known === undefined ? '' : siteKey(known.entry);
    if (r === 1) {
      const kept = this.#answers.use(key);
      if (kept === undefined) return undefined;
      return readValue(typeof kept === 'string' ? JSON.parse(kept) : listOfTexts(kept));
    }
    if (l !== undefined) {
      const before = this.#answers.get(key);
      const list = changedList(l, typeof before === 'string' ? undefined : before);
      if (list === undefined) {
        this.#differ('input', 'a list is answered in which some members are as before', 'they are not known');
        return undefined;
      }
      this.#answers.set(key, list);
      return readValue(listOfTexts(list));
    }
    if (v === undefined) return undefined;
    const text = JSON.stringify(v);
    if (text.length >= shortestKept) this.#answers.set(key, text);
    return readValue(v);
  }

  #callBack({ c, a, v }: Extract<Input, { k: 'cb' }>): void {
    const listener = this.#calls.listener(c, a);
    if (listener === undefined) {
      this.#differ('input', 'the kubelet is told what it waits for', 'it does not wait for it');
      return;
    }
    // `readEntry` has checked that it is a list.
    const args = (v as unknown[]).map((each) => readValue(each));
    // What a failed listener does is seen in what follows.
    Promise.resolve(listener(...args)).catch(() => undefined);
  }

  #fire([turn, delayMs, nth]: TimerKey): void {
    const key = `${turn} ${delayMs} ${nth}`;
    const fire = this.#timers.get(key);
    if (fire === undefined) {
      this.#differ('input', `a timer of ${delayMs} ms that was set in turn ${turn} fires`, 'there is none');
      return;
    }
    this.#timers.delete(key);
    fire();
  }

  #setTimer(delayMs: number, fire: () => void): Timer {
    const nth = this.#timersOfTurn.get(delayMs) ?? 0;
    this.#timersOfTurn.set(delayMs, nth + 1);
    const key = `${this.#turn} ${delayMs} ${nth}`;
    this.#timers.set(key, fire);
    return { cancel: () => void this.#timers.delete(key) };
  }

  #port<Port extends object>(name: string): Port {
    const [shape, ...others] = this.#shapes.get(name) ?? [];
    this.#shapes.set(name, others);
    if (shape === undefined) this.#differ('call', 'nothing', `the kubelet uses the port ${name}`);
    // The record was made of a port with these methods, parts and constants.
    return this.#made(name, shape ?? {}) as Port;
  }

  #made(name: string, shape: PortShape): object {
    return madeOfShape(shape, {
      call: (method, args) => this.#call({ p: name, m: method, i: identityOf(method, args) }, args),
      constant: readValue,
    });
  }

  #call(site: CallSite, args: readonly unknown[]): unknown {
    const [path, data] = args;
    if (writesVolume(site.m, path)) this.#written.set(path, data);
    const known = this.#calls.take(site);
    if (known === undefined)
      return new Promise((resolve, reject) => this.#calls.wait(site, { args, resolve, reject }));
    const { c, w, v, e, h } = known.entry;
    if (w === 1) return new Promise((resolve, reject) => this.#calls.claim(known, { args, resolve, reject }));
    this.#calls.listen(c, args);
    if (e !== undefined) throw readValue(e);
    if (h !== undefined) return this.#made(`#${c}`, h);
    return this.#filled(v === undefined ? undefined : readValue(v), args);
  }

  /** What the record has no words for: bytes in the caller's buffer, and what the kubelet had written itself. */
  #filled(value: unknown, [first]: readonly unknown[]): unknown {
    if (typeof value !== 'object' || value === null) return value;
    if (asWritten in value && typeof first === 'string') {
      const written = this.#written.get(first);
      return typeof written === 'string' ? Buffer.from(written, 'utf8') : (written ?? new Uint8Array());
    }
    if (!(first instanceof Uint8Array && 'filled' in value && 'count' in value)) return value;
    if (!(value.filled instanceof Uint8Array)) return value;
    first.set(value.filled.subarray(0, first.length));
    return value.count;
  }

  #place(): Pick<Difference, 'turn' | 'timeMs'> {
    return { turn: this.#turn, timeMs: this.#time[0] };
  }

  #differ(what: Difference['what'], recorded: string, now: string): void {
    this.differences.add({ ...this.#place(), what, recorded, now });
  }
}
