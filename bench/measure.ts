/** What a benchmark reports, and the arithmetic that makes many noisy samples one figure. */

/** A bound that a figure should keep; `below` excludes the limit itself. */
export type Target =
  | { readonly kind: 'atMost'; readonly limit: number }
  | { readonly kind: 'below'; readonly limit: number };

export type Unit = 'ratio' | '%' | 'ms' | 's' | 'µs' | 'MB' | 'kB' | 'count';

export interface Measure {
  readonly name: string;
  readonly value: number;
  readonly unit: Unit;
  /** Absent for a figure that is there to be compared with or to explain another. */
  readonly target?: Target;
  /** The samples that the value is the median of, to show how noisy the machine was. */
  readonly samples?: readonly number[];
  /** What a ratio is made of. */
  readonly compared?: { readonly unit: Unit; readonly ours: number; readonly theirs: number };
}

export interface BenchContext {
  /** Says what goes on; it is no part of the result. */
  readonly note: (text: string) => void;
  readonly options: BenchOptions;
}

/** What the command line says; each bench takes what concerns it. */
export interface BenchOptions {
  /** The program of the reference kubelet to compare with. */
  readonly kubelet?: string;
  /** Loads of the cluster bench, in pods at once. */
  readonly pods?: readonly number[];
  /** How often each load of the cluster bench is measured. */
  readonly rounds?: number;
  /** How many nodes the hollow bench has. */
  readonly nodes?: number;
  /** Whether the results are written into the documentation. */
  readonly write?: boolean;
  /** One short round of everything: it shows that the benches run, not what they measure. */
  readonly quick?: boolean;
}

/** How many of `rounds` a run makes. */
export function roundsOf({ quick }: BenchOptions, rounds: number): number {
  return quick === true ? 1 : rounds;
}

/** How long of `ms` a run observes. */
export function observedMs({ quick }: BenchOptions, ms: number): number {
  return quick === true ? ms / 10 : ms;
}

export interface Bench {
  readonly name: string;
  readonly summary: string;
  run(context: BenchContext): Promise<Measure[]>;
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 50);
}

/** Interpolates between the two samples that are nearest. */
export function percentile(samples: readonly number[], percent: number): number {
  if (samples.length === 0) throw new Error('no samples to take a percentile of');
  const sorted = [...samples].sort((a, b) => a - b);
  const place = ((sorted.length - 1) * percent) / 100;
  const [low, high] = [sorted[Math.floor(place)] ?? Number.NaN, sorted[Math.ceil(place)] ?? Number.NaN];
  return low + (high - low) * (place - Math.floor(place));
}

/** The measure whose value is the median of its samples. */
export function medianOf(name: string, unit: Unit, samples: readonly number[], target?: Target): Measure {
  return { name, unit, value: median(samples), samples, ...(target === undefined ? {} : { target }) };
}

export const atMost = (limit: number): Target => ({ kind: 'atMost', limit });
export const below = (limit: number): Target => ({ kind: 'below', limit });

/** Undefined when there is no target to meet. */
export function met({ value, target }: Measure): boolean | undefined {
  switch (target?.kind) {
    case undefined:
      return undefined;
    case 'atMost':
      return value <= target.limit;
    case 'below':
      return value < target.limit;
  }
}
