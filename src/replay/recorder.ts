/** Stands between a kubelet and its ports, and writes down what comes in, and by which calls. */
import { BoundedMap, type Clock, type Timer, textBytes } from '../async/index.js';
import type { Outside } from '../kubelet/index.js';
import type { Timeline } from '../timeline/index.js';
import { type CallSite, type Input, type Output, siteKey } from './entries.js';
import { eventsOfOthers, eventsSaidBy, withEventsOfOthers } from './events-of-others.js';
import { identityOf } from './identity.js';
import { recordLimits } from './limits.js';
import { createMask, type Mask, type MaskKind } from './masks.js';
import { type AnyFunction, invoke, isPlain, isPromise } from './port-calls.js';
import { hasMethods, madeOfShape, type PortShape, shapeOf } from './shape.js';
import { type OpenTurn, Turns } from './turns.js';
import { fromJson, toJson } from './values.js';

export interface RecorderOptions {
  /** The world's clock. */
  readonly clock: Clock;
  /** Takes one line of the record; must not wait. */
  readonly write: (line: string) => void;
  /** Default: one with a key of its own. */
  readonly mask?: Mask;
}

/** An object with methods that the kubelet uses. */
interface Called {
  /** The port, or the call that gave the object. */
  readonly p: string;
  readonly target: object;
  readonly kind: MaskKind | undefined;
}

/** A call that waits for its answer. */
interface Asked {
  readonly c: number;
  readonly site: CallSite;
  readonly kind: MaskKind | undefined;
  readonly args: readonly unknown[];
}

export class Recorder {
  /** The clock of the kubelet. It stands still in a turn. */
  readonly clock: Clock;
  readonly outside: Outside;
  readonly #world: Clock;
  readonly #turns: Turns;
  readonly #write: (line: string) => void;
  readonly #mask: Mask;
  readonly #answers = new BoundedMap<string, string>(answersKept);
  readonly #plainTimelines = new WeakMap<Timeline, Timeline>();
  readonly #timersOfTurn = new Map<number, number>();
  /** Turns that the record has; a replay counts the same. */
  #inputs = 0;
  #calls = 0;
  #isRecording = true;

  constructor({ clock, write, mask = createMask() }: RecorderOptions) {
    this.#world = clock;
    this.#turns = new Turns(clock);
    this.#write = write;
    this.#mask = mask;
    this.clock = {
      now: () => this.#turns.now?.time[0] ?? clock.now(),
      monotonic: () => this.#turns.now?.time[1] ?? clock.monotonic(),
      setTimer: (delayMs, fire) => this.#setTimer(delayMs, fire),
    };
    this.outside = {
      clock,
      timeline: (timeline) => this.#plainTimelines.get(timeline) ?? timeline,
      port: (name, make) => this.#port(name, make()),
    };
  }

  /** From now on nothing is written; the kubelet goes on as before. */
  end(): void {
    this.#isRecording = false;
    this.#answers.clear();
  }

  /** Does something with the kubelet in a turn of its own. */
  enter<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#turns.enter(({ time }) => {
        this.#begin({ k: 'go', n: name, t: time });
        Promise.resolve(work()).then(resolve, reject);
      });
    });
  }

  /** The same timeline for the kubelet alone: what is said through it is recorded, and what others say is not. */
  timelineOf(timeline: Timeline): Timeline {
    let isKubelet = false;
    timeline.subscribe((entry) => {
      if (isKubelet && this.#isRecording && this.#turns.now !== undefined) this.#put({ k: 'say', v: entry });
    });
    const own: Timeline['subscribe'] = (reader) =>
      timeline.subscribe((entry) => {
        if (isKubelet) reader(entry);
      });
    const others = this.#port(
      eventsOfOthers,
      eventsSaidBy(timeline, () => !isKubelet),
    );
    const subscribe = withEventsOfOthers(own, others);
    const heard = new Proxy(timeline, {
      get: (target, name) => {
        if (name === 'subscribe') return subscribe;
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          const before = isKubelet;
          isKubelet = true;
          try {
            // Names of events are made from the times of their entries.
            return target.stampedBy(this.clock, () => Reflect.apply(value, target, args));
          } finally {
            isKubelet = before;
          }
        };
      },
    });
    this.#plainTimelines.set(heard, timeline);
    return heard;
  }

  #put(entry: Output): void {
    if (this.#isRecording) this.#write(JSON.stringify(entry));
  }

  /** `rest` is JSON that was made before, to be put at the entry's end. */
  #begin(entry: Input, rest = ''): void {
    this.#inputs++;
    this.#timersOfTurn.clear();
    if (this.#isRecording) this.#write(`${JSON.stringify(entry).slice(0, -1)}${rest}}`);
  }

  #setTimer(delayMs: number, fire: () => void): Timer {
    if (this.#turns.now === undefined) return this.#world.setTimer(delayMs, fire);
    const turn = this.#inputs;
    const nth = this.#timersOfTurn.get(delayMs) ?? 0;
    this.#timersOfTurn.set(delayMs, nth + 1);
    let isCancelled = false;
    const timer = this.#world.setTimer(delayMs, () =>
      this.#turns.enter(({ time }) => {
        // Cancelled by what came in while it waited for its turn, which is empty then.
        if (isCancelled) return;
        this.#begin({ k: 'at', m: [turn, delayMs, nth], t: time });
        fire();
      }),
    );
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
      },
    };
  }

  #port<Port extends object>(name: string, target: Port): Port {
    const shape = shapeOf(target);
    this.#put({ k: 'port', p: name, h: shape });
    // It has the methods, parts and constants of the target.
    return this.#wrapped(name, target, shape, undefined) as Port;
  }

  #wrapped(name: string, target: object, shape: PortShape, kind: MaskKind | undefined): object {
    return madeOfShape(shape, {
      call: (method, args) => this.#call({ p: name, target, kind }, method, args),
      constant: (json) => fromJson(json),
    });
  }

  #call({ p, target, kind: inherited }: Called, m: string, args: readonly unknown[]): unknown {
    const turn = this.#turns.now;
    // Other parts of the process use the port, too; their calls are none of the kubelet's.
    if (turn === undefined) return invoke(target, m, args);
    const c = ++this.#calls;
    const site: CallSite = { p, m, i: identityOf(m, args) };
    const kind = this.#mask.kindOf(site, args, inherited);
    this.#mask.called(site, args);
    const passed = this.#withCallbacks(c, m, args);
    let result: unknown;
    try {
      result = invoke(target, m, passed);
    } catch (error) {
      this.#put({ k: 'do', c, ...site, e: toJson(error) });
      throw error;
    }
    if (isPromise(result)) {
      this.#put({ k: 'do', c, ...site, w: 1 });
      return this.#answered({ c, site, kind, args }, result);
    }
    if (hasMethods(result)) {
      const shape = shapeOf(result);
      this.#put({ k: 'do', c, ...site, h: shape });
      return this.#wrapped(`#${c}`, result, shape, kind);
    }
    this.#put({
      k: 'do',
      c,
      ...site,
      ...(result === undefined ? {} : { v: this.#shown(kind, args, result) }),
    });
    return result;
  }

  #answered({ c, site, kind, args }: Asked, result: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const answer = (value: unknown, { time }: OpenTurn): void => {
        if (hasMethods(value)) {
          const shape = shapeOf(value);
          this.#begin({ k: 'ok', c, t: time, h: shape });
          resolve(this.#wrapped(`#${c}`, value, shape, kind));
          return;
        }
        if (this.#isRecording)
          this.#putAnswer(c, site, time, value === undefined ? undefined : this.#shown(kind, args, value));
        resolve(value);
      };
      result.then(
        (value) => this.#turns.enter((turn) => answer(value, turn)),
        (error: unknown) =>
          this.#turns.enter(({ time }) => {
            this.#begin({ k: 'no', c, t: time, v: toJson(error) });
            reject(error);
          }),
      );
    });
  }

  /** An answer that is the same as the last one to the same question is not written again. */
  #putAnswer(c: number, site: CallSite, t: OpenTurn['time'], shown: unknown): void {
    const text = shown === undefined ? '' : JSON.stringify(shown);
    if (text.length >= shortestKept) {
      const key = siteKey(site);
      if (this.#answers.use(key) === text) {
        this.#begin({ k: 'ok', c, t, r: 1 });
        return;
      }
      this.#answers.set(key, text);
    }
    this.#begin({ k: 'ok', c, t }, text === '' ? '' : `,"v":${text}`);
  }

  /** As the record may hold it. A read fills a buffer that came with the call, so its bytes are part of the answer. */
  #shown(kind: MaskKind | undefined, args: readonly unknown[], value: unknown): unknown {
    const [buffer] = args;
    if (buffer instanceof Uint8Array && typeof value === 'number')
      return toJson({ count: value, filled: this.#mask.bytes(kind, buffer.subarray(0, value)) });
    return toJson(this.#mask.value(kind, args, value));
  }

  /** Functions among the arguments, or one level into them, are let in by turns. */
  #withCallbacks(c: number, method: string, args: readonly unknown[]): unknown[] {
    if (asksBack.has(method)) return [...args];
    return args.map((arg, index) => {
      // What lies outside waits by the world's clock.
      if (arg === this.clock) return this.#world;
      if (typeof arg === 'function') return this.#callback(c, String(index), arg as AnyFunction);
      if (!isPlain(arg)) return arg;
      let copy: Record<string, unknown> | undefined;
      for (const [name, each] of Object.entries(arg)) {
        if (typeof each !== 'function' && each !== this.clock) continue;
        copy ??= { ...arg };
        copy[name] =
          each === this.clock ? this.#world : this.#callback(c, `${index}.${name}`, each as AnyFunction);
      }
      return copy ?? arg;
    });
  }

  #callback(c: number, a: string, listener: AnyFunction): AnyFunction {
    return (...args) =>
      new Promise((resolve, reject) => {
        this.#turns.enter(({ time }) => {
          this.#begin({ k: 'cb', c, a, v: args.map((each) => toJson(each)), t: time });
          Promise.resolve(listener(...args)).then(resolve, reject);
        });
      });
  }
}

/** Both sides of a record remember the same answers. */
export const answersKept = {
  maxEntries: recordLimits.rememberedAnswers,
  maxBytes: recordLimits.rememberedAnswerBytes,
  bytesOf: (key: string, text: string) => textBytes(key, text),
};

/** An answer that is shorter costs no more than the word that it is the same. */
export const shortestKept = 64;

/** Methods whose functions tell the world of the kubelet. They are asked at any time, and change nothing. */
const asksBack: ReadonlySet<string> = new Set(['follow', 'followExclusiveCpus']);
