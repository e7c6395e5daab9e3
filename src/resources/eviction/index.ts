/** Eviction: when the node runs out of memory, disk space or processes, it frees what it can and ends pods in order. */

export { createEvictionMetrics, type EvictionMetrics } from '../metrics.js';
export {
  type EvictionForecast,
  type ForecastPod,
  type ForecastSignal,
  type ForecastThreshold,
  forecastEviction,
  type NextEviction,
  overLimitGraceSeconds,
} from './forecast.js';
export { evictionGraceSeconds } from './grace.js';
export { decideLayout, type FileSystemFigures, type FileSystemLayout } from './layout.js';
export { type LocalStorageExcess, localStorageExcess } from './local-storage.js';
export { EvictionManager, type EvictionManagerOptions, type EvictionSettings } from './manager.js';
export { type EvictionText, evictionText, signalAmount } from './message.js';
export { evictionStats, type ObservedStats } from './observe.js';
export { decidePass, firstPass, type PassDecision, type PassState } from './pass.js';
export type { EvictionKill, EvictionObservation, EvictionPods, EvictionStats } from './ports.js';
export { type Choice, chooseFirst, type RankCriterion, type RankedPod, rankPods } from './ranking.js';
export { isRelieved, type NodeReclaim, reclaimFor } from './reclaim.js';
export {
  type PressureCondition,
  readSignals,
  type SignalReading,
  type SignalReadings,
  signalFacts,
} from './signals.js';
export { isMet, withAllocatableMemory, withContainerFs } from './thresholds.js';
