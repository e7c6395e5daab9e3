/** Pairs the calls of a record with the calls that the replayed kubelet makes, whichever comes first. */
import { type CallSite, type Output, siteKey, siteText } from './entries.js';

export type RecordedCall = Extract<Output, { k: 'do' }>;

/** The kubelet that waits for an answer. */
export interface Claim {
  readonly args: readonly unknown[];
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A call of the record. The replayed kubelet may make it before its turn or after it. */
export interface KnownCall {
  readonly entry: RecordedCall;
  /** Undefined while the kubelet has not made the call. */
  claim: Claim | undefined;
  /** Gives the answer that came before the call was made. */
  early: ((claim: Claim) => void) | undefined;
}

interface UnknownCall {
  readonly claim: Claim;
  isTold: boolean;
}

type ToldFunction = (...args: unknown[]) => unknown;

export class KnownCalls {
  /** Calls that wait for their answers, by number. */
  readonly #open = new Map<number, KnownCall>();
  /** Calls of this turn that the kubelet has not made, by what they ask. */
  readonly #unclaimed = new Map<string, KnownCall[]>();
  /** Those of turns that have gone by. */
  readonly #late = new Map<string, KnownCall[]>();
  /** Calls that the kubelet made and the record does not have yet. */
  readonly #unknown = new Map<string, UnknownCall[]>();
  readonly #listeners = new Map<string, ToldFunction>();

  /** Whether the kubelet has made all calls so far. */
  get areAllMade(): boolean {
    return this.#unclaimed.size === 0;
  }

  /** The record has this call in the turn that begins. */
  expect(entry: RecordedCall): void {
    const key = siteKey(entry);
    const known: KnownCall = { entry, claim: undefined, early: undefined };
    if (entry.w === 1) this.#open.set(entry.c, known);
    const made = entry.w === 1 ? takeFrom(this.#unknown, key) : undefined;
    if (made === undefined) listIn(this.#unclaimed, key).push(known);
    else this.claim(known, made.claim);
  }

  /** The kubelet makes a call; undefined if the record does not have it. */
  take(site: CallSite): KnownCall | undefined {
    const key = siteKey(site);
    return takeFrom(this.#unclaimed, key) ?? takeFrom(this.#late, key);
  }

  /** The kubelet waits for the answer of a call of the record. */
  claim(known: KnownCall, claim: Claim): void {
    known.claim = claim;
    this.listen(known.entry.c, claim.args);
    known.early?.(claim);
  }

  /** The kubelet waits for ever, or until the record has the call. */
  wait(site: CallSite, claim: Claim): void {
    listIn(this.#unknown, siteKey(site)).push({ claim, isTold: false });
  }

  /** The call with this number, while it waits for its answer. */
  waiting(c: number): KnownCall | undefined {
    return this.#open.get(c);
  }

  answer(c: number, give: (claim: Claim) => void): void {
    const known = this.#open.get(c);
    // Without the call, the beginning of the record is missing.
    if (known === undefined) return;
    this.#open.delete(c);
    if (known.claim === undefined) known.early = give;
    else give(known.claim);
  }

  /** The functions of the kubelet that came with a call, each by its place. */
  listen(c: number, args: readonly unknown[]): void {
    for (const [index, arg] of args.entries()) {
      // A function of the kubelet takes what the record says that it was given.
      if (typeof arg === 'function') this.#listeners.set(`${c} ${index}`, arg as ToldFunction);
      else if (typeof arg === 'object' && arg !== null && !hasOwnClass(arg))
        for (const [name, each] of Object.entries(arg))
          if (typeof each === 'function') this.#listeners.set(`${c} ${index}.${name}`, each as ToldFunction);
    }
  }

  listener(c: number, place: string): ToldFunction | undefined {
    return this.#listeners.get(`${c} ${place}`);
  }

  /** Tells, at the end of a turn, which calls were not made in it, and which were made that the record does not have. */
  endTurn(tell: (recorded: string, now: string) => void): void {
    for (const [key, calls] of this.#unclaimed) {
      for (const { entry } of calls) tell(`the kubelet calls ${siteText(entry)}`, 'it does not');
      listIn(this.#late, key).push(...calls);
    }
    this.#unclaimed.clear();
    for (const [key, calls] of this.#unknown)
      for (const call of calls) {
        if (call.isTold) continue;
        call.isTold = true;
        const [p = '', m = '', i = ''] = key.split('\n');
        tell('nothing', `the kubelet calls ${siteText({ p, m, i })}`);
      }
  }
}

function hasOwnClass(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== Object.prototype && prototype !== null;
}

function listIn<T>(lists: Map<string, T[]>, key: string): T[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

function takeFrom<T>(lists: Map<string, T[]>, key: string): T | undefined {
  const list = lists.get(key);
  const taken = list?.shift();
  if (list?.length === 0) lists.delete(key);
  return taken;
}
