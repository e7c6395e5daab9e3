/** The entries of a record, in the order in which they happened: what came in begins a turn, what was done follows it. */
import type { TimelineEntry } from '../timeline/index.js';
import { isListChange, type ListChange } from './answer-lists.js';
import { RecordProblem } from './record-problem.js';
import { isShape, type PortShape } from './shape.js';
import { fromJson } from './values.js';

/** The kubelet's clock in a turn, during which it stands still: wall-clock and monotonic milliseconds. */
export type TurnTime = readonly [nowMs: number, monotonicMs: number];

/** What came in. Each begins a turn, which ends when the kubelet has nothing to do any more. */
export type Input =
  /** The world asked the kubelet for something, such as to start. */
  | { readonly k: 'go'; readonly n: string; readonly t: TurnTime }
  /**
   * The answer of a call: a value, the same answer as before to the same question, what has changed in a list since then, or an
   * object with methods.
   */
  | {
      readonly k: 'ok';
      readonly c: number;
      readonly t: TurnTime;
      readonly v?: unknown;
      readonly r?: 1;
      readonly l?: ListChange;
      readonly h?: PortShape;
    }
  | { readonly k: 'no'; readonly c: number; readonly t: TurnTime; readonly v: unknown }
  /** The world called a function that came with a call. */
  | { readonly k: 'cb'; readonly c: number; readonly a: string; readonly v: unknown; readonly t: TurnTime }
  /** A timer fired: the turn in which it was set, its delay, and its place among those of the same turn and delay. */
  | { readonly k: 'at'; readonly m: TimerKey; readonly t: TurnTime };

export type TimerKey = readonly [turn: number, delayMs: number, nth: number];

/** What the kubelet did in a turn. */
export type Output =
  /** It got a port. */
  | { readonly k: 'port'; readonly p: string; readonly h: PortShape }
  /** It called a method, and waits (`w`), or was answered at once: with a value, an error or an object with methods. */
  | ({ readonly k: 'do'; readonly c: number } & CallSite & {
        readonly w?: 1;
        readonly v?: unknown;
        readonly e?: unknown;
        readonly h?: PortShape;
      })
  /** It recorded something in its timeline. */
  | { readonly k: 'say'; readonly v: TimelineEntry };

/** Which method of which port was called, and for what. */
export interface CallSite {
  readonly p: string;
  readonly m: string;
  readonly i: string;
}

export type RecordEntry = Input | Output;

export function isInput(entry: RecordEntry): entry is Input {
  return entry.k !== 'port' && entry.k !== 'do' && entry.k !== 'say';
}

export function siteKey({ p, m, i }: CallSite): string {
  return `${p}\n${m}\n${i}`;
}

export function siteText({ p, m, i }: CallSite): string {
  return `${p}.${m}(${i})`;
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isTime = (value: unknown): boolean =>
  Array.isArray(value) && value.length === 2 && value.every((each) => Number.isFinite(each));
const isTimer = (value: unknown): boolean =>
  Array.isArray(value) && value.length === 3 && value.every((each) => typeof each === 'number');
const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const fieldsOf: Readonly<Record<RecordEntry['k'], Readonly<Record<string, (value: unknown) => boolean>>>> = {
  go: { n: isText, t: isTime },
  ok: { c: isCount, t: isTime },
  no: { c: isCount, t: isTime },
  cb: { c: isCount, a: isText, t: isTime, v: Array.isArray },
  at: { m: isTimer, t: isTime },
  port: { p: isText, h: isShape },
  do: { c: isCount, p: isText, m: isText, i: isText },
  say: { v: isObject },
};

/** The entry of one line of a record. */
export function readEntry(line: string): RecordEntry {
  const entry = parsed(line);
  const { k } = entry;
  if (typeof k !== 'string' || !Object.hasOwn(fieldsOf, k)) throw new RecordProblem('an entry has no kind');
  // The table has the key.
  for (const [field, isRight] of Object.entries(fieldsOf[k as RecordEntry['k']]))
    if (!isRight(entry[field]))
      throw new RecordProblem(`an entry ${k} has a field ${field} that it cannot have`);
  if (entry.h !== undefined && !isShape(entry.h))
    throw new RecordProblem(`an entry ${k} has a field h that it cannot have`);
  if (entry.l !== undefined && !isListChange(entry.l))
    throw new RecordProblem(`an entry ${k} has a field l that it cannot have`);
  // Its kind and the fields of the kind were checked.
  return entry as unknown as RecordEntry;
}

function parsed(line: string): Readonly<Record<string, unknown>> {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch (cause) {
    throw new RecordProblem('an entry is no JSON', { cause });
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new RecordProblem('an entry is no object');
  // A parsed object is a record of its own properties.
  return json as Readonly<Record<string, unknown>>;
}

/** The value of an entry's `v`, `e` or constant. */
export function readValue(json: unknown): unknown {
  return fromJson(json);
}
