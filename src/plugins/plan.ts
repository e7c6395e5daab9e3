/** Decides which plugins to register and deregister now, from the sockets that are there and what was done before. */
import { pluginLimits } from './limits.js';

/** By path: what tells one socket from another that took its place. */
export type FoundSockets = ReadonlyMap<string, string>;

/** The last operation on a socket path. */
export interface SocketOperation {
  readonly pending: boolean;
  /** The socket that was tried last. */
  readonly identity: string;
  /** Zero until one fails. */
  readonly delayMs: number;
  readonly failedAtMs: number;
}

export interface PluginPlanInput {
  readonly found: FoundSockets;
  /** By path: the identity of the socket that is registered. */
  readonly registered: ReadonlyMap<string, string>;
  /** By path. */
  readonly operations: ReadonlyMap<string, SocketOperation>;
  readonly nowMs: number;
}

export interface PlannedRegistration {
  readonly kind: 'register' | 'deregister';
  readonly socketPath: string;
  readonly because: string;
}

export interface PluginPlan {
  /** One at most for a socket path; they run concurrently. */
  readonly steps: readonly PlannedRegistration[];
  /** When the first failed registration may be tried again. */
  readonly retryAtMs: number | undefined;
}

export function planPlugins({ found, registered, operations, nowMs }: PluginPlanInput): PluginPlan {
  const steps: PlannedRegistration[] = [];
  let retryAtMs: number | undefined;
  for (const [socketPath, identity] of registered) {
    if (found.get(socketPath) === identity || operations.get(socketPath)?.pending) continue;
    const because = found.has(socketPath)
      ? 'another socket has taken the place of its socket'
      : 'its socket is gone';
    steps.push({ kind: 'deregister', socketPath, because });
  }
  for (const [socketPath, identity] of found) {
    const last = operations.get(socketPath);
    if (registered.has(socketPath) || last?.pending) continue;
    const untilMs = retryTime(last, identity);
    if (untilMs !== undefined && nowMs < untilMs) {
      retryAtMs = Math.min(retryAtMs ?? untilMs, untilMs);
      continue;
    }
    const because =
      untilMs === undefined ? 'its socket has appeared' : 'the last attempt failed, and its pause is over';
    steps.push({ kind: 'register', socketPath, because });
  }
  return { steps, retryAtMs };
}

/** A new socket waits only the first pause, whatever the one before it did. */
function retryTime(last: SocketOperation | undefined, identity: string): number | undefined {
  if (last === undefined || last.delayMs === 0) return undefined;
  const delayMs =
    last.identity === identity ? last.delayMs : Math.min(last.delayMs, pluginLimits.firstRetryMs);
  return last.failedAtMs + delayMs;
}

/** The operation after it failed. */
export function failedOperation(
  last: SocketOperation | undefined,
  identity: string,
  nowMs: number,
): SocketOperation {
  const { firstRetryMs, longestRetryMs } = pluginLimits;
  const before = last?.identity === identity ? last.delayMs : 0;
  const delayMs = before === 0 ? firstRetryMs : Math.min(before * 2, longestRetryMs);
  return { pending: false, identity, delayMs, failedAtMs: nowMs };
}

/** The sockets that are looked after when there are too many: first those that are registered, then by name. */
export function chosenSockets(found: FoundSockets, registered: ReadonlyMap<string, string>): FoundSockets {
  if (found.size <= pluginLimits.sockets) return found;
  const rank = (path: string): number => (registered.has(path) ? 0 : 1);
  const sorted = [...found].sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return new Map(sorted.slice(0, pluginLimits.sockets));
}
