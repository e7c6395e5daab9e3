/** Graceful node shutdown: the machine's shutdown waits until the pods of the node have ended. `bus-logind.ts` is loaded where it is used. */
export {
  type GroupOfPods,
  podsByGroup,
  type ShutdownGroup,
  type ShutdownPeriods,
  shutdownDelayMs,
  shutdownGraceSeconds,
  shutdownGroups,
} from './groups.js';
export type { ShutdownPods } from './kill-groups.js';
export type { InhibitLock, Logind, LogindConnection } from './logind.js';
export {
  ShutdownManager,
  type ShutdownManagerOptions,
  type ShutdownStateStore,
} from './shutdown-manager.js';
export { SimulatedLogind, type SimulatedLogindOptions } from './simulated-logind.js';
export { parseShutdownState, type ShutdownTimes, shutdownStateName, shutdownStateText } from './state.js';
