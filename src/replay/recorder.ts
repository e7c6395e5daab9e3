/** Stands between a kubelet and its ports, and writes down what comes in, and by which calls. */
import type { Clock, Timer } from '../async/index.js';
import type { Outside } from '../kubelet/index.js';
import type { Timeline } from '../timeline/index.js';
import { AnswerBook } from './answer-book.js';
import { type CallSite, type Input, type Output, siteKey, type TurnTime } from './entries.js';
import { eventsOfOthers, eventsSaidBy, withEventsOfOthers } from './events-of-others.js';
import { identityOf } from './identity.js';
import { createMask, type Mask, type MaskKind } from './masks.js';
import { type AnyFunction, invoke, isPlain, isPromise } from './port-calls.js';
import { hasMethods, madeOfShape, type PortShape, shapeOf } from './shape.js';
import { type OpenTurn, Turns } from './turns.js';
import { fromJson, toJson } from './values.js';

export interface RecorderOptions {
  /** The world's clock. */
  readonly clock: Clock;
  /** Takes one line of the record; must not wait. One without news may be written later. */
  readonly write: (line: string, isNews: boolean) => void;
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
  readonly key: string;
  readonly kind: MaskKind | undefined;
  readonly args: readonly unknown[];
}

export class Recorder {
  /** The clock of the kubelet. It stands still in a turn. */
  readonly clock: Clock;
  readonly outside: Outside;
  readonly #world: Clock;
  readonly #turns: Turns;
  readonly #write: RecorderOptions['write'];
  readonly #mask: Mask;
  readonly #answers = new AnswerBook();
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

  #put(entry: Output, isNews = true): void {
    if (this.#isRecording) this.#write(JSON.stringify(entry), isNews);
  }

  #begin(entry: Input): void {
    this.#beginTurn();
    if (this.#isRecording) this.#write(JSON.stringify(entry), true);
  }

  #beginTurn(): void {
    this.#inputs++;
    this.#timersOfTurn.clear();
  }

  /** Most turns of a node at rest begin with a timer. */
  #beginTimer(turn: number, delayMs: number, nth: number, [nowMs, monotonicMs]: TurnTime): void {
    this.#beginTurn();
    if (this.#isRecording)
      this.#write(`{"k":"at","m":[${turn},${delayMs},${nth}],"t":[${nowMs},${monotonicMs}]}`, false);
  }

  #beginAnswer(c: number, [nowMs, monotonicMs]: TurnTime, key: string, shown: () => unknown): void {
    this.#beginTurn();
    if (!this.#isRecording) return;
    const { json, isNews } = this.#answers.fieldsOf(key, shown());
    this.#write(`{"k":"ok","c":${c},"t":[${nowMs},${monotonicMs}]${json}}`, isNews);
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
        this.#beginTimer(turn, delayMs, nth, time);
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
      const key = siteKey(site);
      // What is asked again and again is decided by the answers.
      this.#put({ k: 'do', c, ...site, w: 1 }, !this.#answers.has(key));
      return this.#answered({ c, key, kind, args }, result);
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
      ...(result === undefined ? {} : { v: toJson(this.#shown(kind, args, result)) }),
    });
    return result;
  }

  #answered({ c, key, kind, args }: Asked, result: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const answer = (value: unknown, { time }: OpenTurn): void => {
        if (hasMethods(value)) {
          const shape = shapeOf(value);
          this.#begin({ k: 'ok', c, t: time, h: shape });
          resolve(this.#wrapped(`#${c}`, value, shape, kind));
          return;
        }
        this.#beginAnswer(c, time, key, () =>
          value === undefined ? undefined : this.#shown(kind, args, value),
        );
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

  /** As the record may hold it. A read fills a buffer that came with the call, so its bytes are part of the answer. */
  #shown(kind: MaskKind | undefined, args: readonly unknown[], value: unknown): unknown {
    const [buffer] = args;
    if (buffer instanceof Uint8Array && typeof value === 'number')
      return { count: value, filled: this.#mask.bytes(kind, buffer.subarray(0, value)) };
    return this.#mask.value(kind, args, value);
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

/** Methods whose functions tell the world of the kubelet. They are asked at any time, and change nothing. */
const asksBack: ReadonlySet<string> = new Set(['follow', 'followExclusiveCpus']);
