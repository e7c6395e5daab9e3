/**
 * Says whether a figure grows, from its values at the quiet points.
 *
 * A line is fitted by least squares through the values over time. Values of different lives of a process have the same
 * slope and each life a height of its own, as a new process begins anew. What the line rises over the whole time is
 * compared with 5 % of the figure's median, or with an absolute floor where that is more. The rise counts only when the
 * order of the values shows it too: by the Mann-Kendall test, summed over the lives, chance must bring such an order about
 * in at most one case of twenty.
 */

export interface QuietValue {
  readonly atMs: number;
  /** Values are compared with those of the same life; 0 for what outlives every process. */
  readonly life: number;
  readonly value: number;
}

export interface DriftLimits {
  /** A rise of less than this is none, whatever it is in per cent. */
  readonly floor: number;
}

export interface Drift {
  readonly verdict: 'flat' | 'grows' | 'unknown';
  readonly values: number;
  readonly median: number;
  readonly slopePerHour: number;
  /** What the line rises from the first value to the last. */
  readonly rise: number;
  readonly allowedRise: number;
  /** Of the Mann-Kendall test: above 1.645 the order of the values is hardly chance. */
  readonly trend: number;
}

export const tolerance = 0.05;
/** One case of twenty, one-sided. */
export const significantTrend = 1.645;
/** With fewer values no order is rare enough to mean something. */
export const leastValues = 4;
const hourMs = 3_600_000;

export function driftOf(values: readonly QuietValue[], { floor }: DriftLimits): Drift {
  const lives = groups(values, ({ life }) => life);
  const middle = median(values.map(({ value }) => value));
  const allowedRise = Math.max(tolerance * Math.abs(middle), floor);
  const slopePerMs = commonSlope(lives);
  const moments = values.map(({ atMs }) => atMs);
  const rise = values.length === 0 ? 0 : slopePerMs * (Math.max(...moments) - Math.min(...moments));
  const trend = trendOf(lives);
  const isEnough = Math.max(0, ...lives.map(({ length }) => length)) >= leastValues;
  const grows = rise > allowedRise && trend > significantTrend;
  return {
    verdict: isEnough ? (grows ? 'grows' : 'flat') : 'unknown',
    values: values.length,
    median: middle,
    slopePerHour: slopePerMs * hourMs,
    rise,
    allowedRise,
    trend,
  };
}

/** The slope that all lives share, each around its own middle. */
function commonSlope(lives: readonly (readonly QuietValue[])[]): number {
  let together = 0;
  let spread = 0;
  for (const life of lives) {
    const middleMs = mean(life.map(({ atMs }) => atMs));
    const middle = mean(life.map(({ value }) => value));
    for (const { atMs, value } of life) {
      together += (atMs - middleMs) * (value - middle);
      spread += (atMs - middleMs) ** 2;
    }
  }
  return spread === 0 ? 0 : together / spread;
}

/** How many pairs of a life rise more than fall, in standard deviations of what chance would do. */
function trendOf(lives: readonly (readonly QuietValue[])[]): number {
  let rising = 0;
  let variance = 0;
  for (const life of lives) {
    const inOrder = [...life].sort((a, b) => a.atMs - b.atMs).map(({ value }) => value);
    for (const [at, earlier] of inOrder.entries()) {
      for (const later of inOrder.slice(at + 1)) rising += Math.sign(later - earlier);
    }
    variance += varianceOf(inOrder.length);
    // Equal values make no pair that could rise or fall.
    for (const { length } of groups(inOrder, (value) => value)) variance -= varianceOf(length);
  }
  if (variance <= 0) return 0;
  // A sum changes by two at a time, so half a step is one.
  return (rising - Math.sign(rising)) / Math.sqrt(variance);
}

function groups<T>(items: readonly T[], keyOf: (item: T) => number): T[][] {
  const found = new Map<number, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    found.set(key, [...(found.get(key) ?? []), item]);
  }
  return [...found.values()];
}

function varianceOf(count: number): number {
  return (count * (count - 1) * (2 * count + 5)) / 18;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
