/** Where the time of a pod's start went: every instant from the first sight of the pod to Ready belongs to one phase. */
import { type EntryOf, isEntry, type PodRef, type TimelineEntry } from './entry.js';

/** When several are under way, the first one in this order has the time. */
export const startPhases = ['pull', 'gate', 'sandbox', 'start', 'volumes', 'init', 'ready', 'agent'] as const;
export type StartPhase = (typeof startPhases)[number];

/** For people; `agent` is what is left: the agent's own steps, and its waits for the API and the runtime. */
export const startPhaseTexts: Readonly<Record<StartPhase, string>> = {
  pull: 'pulling images',
  gate: 'waiting for its turn',
  sandbox: 'creating the sandbox',
  start: 'creating and starting containers',
  volumes: 'mounting volumes',
  init: 'init containers at work',
  ready: 'started, not ready yet',
  agent: 'the agent and its queues',
};

export interface PodStart {
  readonly pod: PodRef;
  readonly fromMs: number;
  /** Undefined while it is under way, or where the pod ended before it was ready. */
  readonly toMs: number | undefined;
  readonly phasesMs: Readonly<Record<StartPhase, number>>;
  readonly totalMs: number;
}

interface PhaseInterval {
  readonly phase: StartPhase;
  readonly fromMs: number;
  readonly toMs: number;
}

/** The first start of a pod, from its entries, oldest first; undefined where its beginning is not known any more. */
export function podStart(entries: readonly TimelineEntry[], nowMs: number): PodStart | undefined {
  const seen = entries.find((entry): entry is EntryOf<'pod.seen'> => isEntry(entry, 'pod.seen'));
  if (seen?.pod === undefined) return undefined;
  const fromMs = seen.timeMs - (seen.durationMs ?? 0);
  const end = entries.find(
    (entry) =>
      (isEntry(entry, 'pod.ready') && entry.data.to === 'True') ||
      (isEntry(entry, 'pod.phase') && (entry.data.to === 'Succeeded' || entry.data.to === 'Failed')) ||
      isEntry(entry, 'pod.terminating'),
  );
  const isReady = end !== undefined && isEntry(end, 'pod.ready');
  const endMs = end?.timeMs ?? nowMs;
  const phasesMs = share(intervals(entries, endMs), fromMs, endMs);
  return {
    pod: seen.pod,
    fromMs,
    toMs: isReady ? endMs : undefined,
    phasesMs,
    totalMs: endMs - fromMs,
  };
}

function intervals(entries: readonly TimelineEntry[], endMs: number): PhaseInterval[] {
  const found: PhaseInterval[] = [];
  const took = (phase: StartPhase, { timeMs, durationMs = 0 }: TimelineEntry): void =>
    void found.push({ phase, fromMs: timeMs - durationMs, toMs: timeMs });
  const pullingSince = new Map<string, number>();
  const runningSince = new Map<string, number>();
  for (const entry of entries) {
    if (entry.timeMs > endMs) break;
    const { container = '', timeMs } = entry;
    if (isEntry(entry, 'volume.mount', 'volume.map')) took('volumes', entry);
    else if (isEntry(entry, 'volume.wait'))
      found.push({ phase: 'volumes', fromMs: entry.data.sinceMs, toMs: timeMs });
    else if (isEntry(entry, 'sandbox.create', 'container.start')) {
      took(entry.what === 'sandbox.create' ? 'sandbox' : 'start', entry);
      const beganMs = timeMs - (entry.durationMs ?? 0);
      found.push({ phase: 'gate', fromMs: beganMs - (entry.data?.waitedMs ?? 0), toMs: beganMs });
    } else if (entry.event?.reason === 'Pulling') {
      if (!pullingSince.has(container)) pullingSince.set(container, timeMs);
    } else if (entry.event?.reason === 'Pulled') {
      const sinceMs = pullingSince.get(container);
      if (sinceMs !== undefined) found.push({ phase: 'pull', fromMs: sinceMs, toMs: timeMs });
      pullingSince.delete(container);
    } else if (isEntry(entry, 'container.state')) {
      const sinceMs = runningSince.get(container);
      if (entry.data.to === 'running') runningSince.set(container, timeMs);
      else if (sinceMs !== undefined) {
        // One that has ended before the pod was ready has done its part of the start.
        found.push({ phase: 'init', fromMs: sinceMs, toMs: timeMs });
        runningSince.delete(container);
      }
    }
  }
  for (const fromMs of pullingSince.values()) found.push({ phase: 'pull', fromMs, toMs: endMs });
  for (const fromMs of runningSince.values()) found.push({ phase: 'ready', fromMs, toMs: endMs });
  return found;
}

function share(found: readonly PhaseInterval[], fromMs: number, endMs: number): Record<StartPhase, number> {
  const phasesMs: Record<StartPhase, number> = {
    pull: 0,
    gate: 0,
    sandbox: 0,
    start: 0,
    volumes: 0,
    init: 0,
    ready: 0,
    agent: 0,
  };
  const bounds = [fromMs, endMs, ...found.flatMap((each) => [each.fromMs, each.toMs])]
    .filter((ms) => ms >= fromMs && ms <= endMs)
    .sort((a, b) => a - b);
  for (const [at, beginMs] of bounds.entries()) {
    const untilMs = bounds[at + 1];
    if (untilMs === undefined || untilMs === beginMs) continue;
    const active = found.filter((each) => each.fromMs <= beginMs && each.toMs >= untilMs);
    const phase = startPhases.find((one) => active.some((each) => each.phase === one)) ?? 'agent';
    phasesMs[phase] += untilMs - beginMs;
  }
  return phasesMs;
}

/** The value that the given part of all does not exceed; undefined of none. */
export function quantile(values: readonly number[], part: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)];
}
