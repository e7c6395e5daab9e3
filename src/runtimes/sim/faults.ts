/** The fault plan of a simulated runtime: which calls fail, wait, or lose their response. */
import { type CriCodeName, CriError, type CriMethodName } from '../../cri/index.js';

interface FaultAim {
  readonly rpc: CriMethodName;
  /** The first affected call, counted from when the fault was added; default 1. */
  readonly nth?: number;
  /** How many consecutive calls are affected; default 1, `Infinity` for all. */
  readonly times?: number;
}

export type CriFault = FaultAim &
  (
    | { readonly error: CriError }
    | { readonly delayMs: number }
    /** The effect happens but the caller gets Unavailable, or the given code. */
    | {
        readonly loseResponse: true;
        readonly code?: Extract<CriCodeName, 'Unavailable' | 'DeadlineExceeded'>;
      }
  );

/** The planned faults of one call. */
export interface FaultVerdict {
  readonly delayMs: number;
  readonly error: CriError | undefined;
  readonly lostAnswer: CriError | undefined;
}

export class FaultPlan {
  readonly #byRpc = new Map<CriMethodName, { readonly fault: CriFault; calls: number }[]>();

  /** Adds a fault; returns a function that removes it. */
  add(fault: CriFault): () => void {
    const nth = fault.nth ?? 1;
    const times = fault.times ?? 1;
    if (!Number.isInteger(nth) || nth < 1) throw new RangeError(`nth must be 1 or more, not ${nth}`);
    if (!(times >= 1)) throw new RangeError(`times must be 1 or more, not ${times}`);
    const entry = { fault, calls: 0 };
    const entries = this.#byRpc.get(fault.rpc);
    if (entries === undefined) this.#byRpc.set(fault.rpc, [entry]);
    else entries.push(entry);
    return () => this.#drop(fault.rpc, entry);
  }

  clear(): void {
    this.#byRpc.clear();
  }

  /** How many faults are not used up yet. */
  get size(): number {
    let size = 0;
    for (const entries of this.#byRpc.values()) size += entries.length;
    return size;
  }

  /** Counts a call; undefined when no fault applies. */
  take(rpc: CriMethodName): FaultVerdict | undefined {
    const entries = this.#byRpc.get(rpc);
    if (entries === undefined) return undefined;
    let verdict: { -readonly [Key in keyof FaultVerdict]: FaultVerdict[Key] } | undefined;
    for (const entry of [...entries]) {
      const first = entry.fault.nth ?? 1;
      const last = first + (entry.fault.times ?? 1) - 1;
      entry.calls++;
      if (entry.calls < first) continue;
      if (entry.calls >= last) this.#drop(rpc, entry);
      verdict ??= { delayMs: 0, error: undefined, lostAnswer: undefined };
      if ('delayMs' in entry.fault) verdict.delayMs += entry.fault.delayMs;
      else if ('error' in entry.fault) verdict.error ??= entry.fault.error;
      else verdict.lostAnswer ??= lostAnswer(entry.fault.code ?? 'Unavailable');
    }
    return verdict;
  }

  #drop(rpc: CriMethodName, entry: { readonly fault: CriFault; calls: number }): void {
    const entries = this.#byRpc.get(rpc)?.filter((other) => other !== entry);
    if (entries === undefined || entries.length === 0) this.#byRpc.delete(rpc);
    else this.#byRpc.set(rpc, entries);
  }
}

function lostAnswer(code: 'Unavailable' | 'DeadlineExceeded'): CriError {
  return code === 'Unavailable'
    ? new CriError('Unavailable', 'error reading from server: EOF')
    : new CriError('DeadlineExceeded', 'context deadline exceeded');
}
