/** Decides one pass of the eviction loop: which conditions the node has, and which thresholds to act on now. */
import type { EvictionThreshold } from '../../kube/index.js';
import { type PressureCondition, type SignalReadings, signalFacts } from './signals.js';
import { isMet } from './thresholds.js';

/** What one pass leaves for the next. Nothing of it outlives the process. */
export interface PassState {
  /** Met for at least their grace period: they end only with their minimum reclaimed. */
  readonly met: readonly EvictionThreshold[];
  /** Since when each has been met. */
  readonly firstMetMs: ReadonlyMap<EvictionThreshold, number>;
  /** When each condition was last true. */
  readonly conditionMs: ReadonlyMap<PressureCondition, number>;
  /** Undefined before the first pass. */
  readonly readings: SignalReadings | undefined;
}

export const firstPass: PassState = {
  met: [],
  firstMetMs: new Map(),
  conditionMs: new Map(),
  readings: undefined,
};

export interface PassInput {
  readonly thresholds: readonly EvictionThreshold[];
  readonly readings: SignalReadings;
  /** By a clock that only goes forward. */
  readonly nowMs: number;
  /** How long a condition stays after its last threshold was met. */
  readonly transitionPeriodMs: number;
}

export interface PassDecision {
  readonly next: PassState;
  readonly conditions: readonly PressureCondition[];
  /** All that are met, whatever their grace period. */
  readonly met: readonly EvictionThreshold[];
  /** Those to act on, the most urgent first. */
  readonly act: readonly EvictionThreshold[];
}

export function decidePass(state: PassState, input: PassInput): PassDecision {
  const { thresholds, readings, nowMs, transitionPeriodMs } = input;
  const met = thresholds.filter(
    (threshold) =>
      isMet(threshold, readings) ||
      (state.met.includes(threshold) && isMet(threshold, readings, { withReclaim: true })),
  );
  const firstMetMs = new Map(
    met.map((threshold) => [threshold, state.firstMetMs.get(threshold) ?? nowMs] as const),
  );
  const conditionMs = new Map(state.conditionMs);
  for (const { signal } of met) conditionMs.set(signalFacts[signal].condition, nowMs);
  const kept = met.filter((threshold) => nowMs - (firstMetMs.get(threshold) ?? nowMs) >= threshold.graceMs);
  return {
    next: { met: kept, firstMetMs, conditionMs, readings },
    conditions: [...conditionMs]
      .filter(([, atMs]) => nowMs - atMs < transitionPeriodMs)
      .map(([condition]) => condition)
      .sort(),
    met,
    act: kept
      .filter(({ signal }) => isNews(signal, state.readings, readings))
      // Memory runs out fastest.
      .sort((a, b) => urgency(a) - urgency(b)),
  };
}

/**
 * Whether the signal was measured again since the last pass: what was done then may not show yet. A time before the last
 * one is another measurement, too: the machine's clock was set back.
 */
function isNews(
  signal: EvictionThreshold['signal'],
  before: SignalReadings | undefined,
  now: SignalReadings,
): boolean {
  const atMs = now.get(signal)?.atMs;
  const beforeMs = before?.get(signal)?.atMs;
  return atMs === undefined || beforeMs === undefined || atMs !== beforeMs;
}

function urgency({ signal }: EvictionThreshold): number {
  return signalFacts[signal].resource === 'memory' ? 0 : 1;
}
