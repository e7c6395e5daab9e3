/** A pod's life as spans of time: what it was doing when, with the cause, one lane for the pod and one for each of its parts. */

import { formatDuration } from './duration-text.js';
import { type EntryOf, isEntry, type TimelineEntry } from './entry.js';

export type SpanKind =
  | 'waiting'
  | 'not-ready'
  | 'ready'
  | 'ending'
  | 'ended'
  | 'failed'
  | 'running'
  | 'back-off'
  | 'volume'
  | 'gate'
  | 'sandbox'
  | 'pull'
  | 'start'
  | 'stop';

export interface LaneSpan {
  readonly kind: SpanKind;
  readonly fromMs: number;
  /** Undefined while it lasts. */
  readonly toMs: number | undefined;
  readonly label: string;
  readonly because: string | undefined;
}

export interface LaneMark {
  readonly timeMs: number;
  readonly label: string;
  readonly because: string | undefined;
  readonly problem: boolean;
}

export interface PodLane {
  /** `pod`, `volumes`, `sandbox`, or the name of a container. */
  readonly name: string;
  readonly container: boolean;
  /** States first, then the work that lies over them; each in the order of time. */
  readonly spans: readonly LaneSpan[];
  readonly marks: readonly LaneMark[];
}

/** From the entries of one pod, oldest first. Lanes without a span are left out. */
export function podLanes(entries: readonly TimelineEntry[]): PodLane[] {
  const containers = [...new Set(entries.flatMap(({ container }) => container ?? []))];
  const lanes: PodLane[] = [
    { name: 'pod', container: false, spans: podStates(entries), marks: podMarks(entries) },
    { name: 'volumes', container: false, spans: volumeSpans(entries), marks: [] },
    { name: 'sandbox', container: false, spans: sandboxSpans(entries), marks: [] },
    ...containers.map((name): PodLane => {
      const own = entries.filter(({ container }) => container === name);
      return {
        name,
        container: true,
        spans: [...containerStates(own), ...containerWork(own)],
        marks: containerMarks(own),
      };
    }),
  ];
  return lanes.filter(({ spans, marks }) => spans.length > 0 || marks.length > 0);
}

interface State {
  readonly kind: SpanKind;
  readonly label: string;
}

/** Each state lasts until the next one. */
function states(changes: readonly (State & Pick<TimelineEntry, 'timeMs' | 'because'>)[]): LaneSpan[] {
  return changes.map(({ kind, label, timeMs, because }, at) => ({
    kind,
    label,
    because,
    fromMs: timeMs,
    toMs: changes[at + 1]?.timeMs,
  }));
}

function podStates(entries: readonly TimelineEntry[]): LaneSpan[] {
  const [first] = entries;
  if (first === undefined) return [];
  let phase = 'Pending';
  let ready = false;
  let ending: State | undefined;
  const changes: (State & Pick<TimelineEntry, 'timeMs' | 'because'>)[] = [
    { kind: 'waiting', label: 'Pending', timeMs: first.timeMs - (first.durationMs ?? 0), because: undefined },
  ];
  for (const entry of entries) {
    if (isEntry(entry, 'pod.phase')) phase = entry.data.to;
    else if (isEntry(entry, 'pod.ready')) ready = entry.data.to === 'True';
    else if (isEntry(entry, 'pod.terminating')) ending = { kind: 'ending', label: 'Terminating' };
    else if (isEntry(entry, 'pod.finished', 'pod.terminated')) ending = { kind: 'ended', label: 'Stopped' };
    else continue;
    const state = ending ?? podState(phase, ready);
    if (changes.at(-1)?.label !== state.label)
      changes.push({ ...state, timeMs: entry.timeMs, because: entry.because });
  }
  return states(changes);
}

function podState(phase: string, ready: boolean): State {
  switch (phase) {
    case 'Running':
      return ready ? { kind: 'ready', label: 'Ready' } : { kind: 'not-ready', label: 'Running, not ready' };
    case 'Succeeded':
      return { kind: 'ended', label: phase };
    case 'Failed':
      return { kind: 'failed', label: phase };
    default:
      return { kind: 'waiting', label: phase };
  }
}

function podMarks(entries: readonly TimelineEntry[]): LaneMark[] {
  return entries
    .filter((entry) => entry.container === undefined && (entry.level === 'warn' || entry.level === 'error'))
    .map(problemMark);
}

function problemMark({ timeMs, message, because, error }: TimelineEntry): LaneMark {
  return { timeMs, label: error === undefined ? message : `${message}: ${error}`, because, problem: true };
}

/** What an entry tells the end of. */
function work(entry: TimelineEntry, kind: SpanKind): LaneSpan[] {
  const { timeMs, durationMs, message, because, error } = entry;
  if (durationMs === undefined) return [];
  const failed = error === undefined ? '' : `: ${error}`;
  return [
    {
      kind: error === undefined ? kind : 'failed',
      fromMs: timeMs - durationMs,
      toMs: timeMs,
      label: `${message} in ${formatDuration(durationMs)}${failed}`,
      because,
    },
  ];
}

function volumeSpans(entries: readonly TimelineEntry[]): LaneSpan[] {
  const waits = new Map<string, EntryOf<'volume.wait'>>();
  const spans: LaneSpan[] = [];
  const waited = (wait: EntryOf<'volume.wait'>, toMs: number | undefined): LaneSpan => ({
    kind: wait.error === undefined ? 'waiting' : 'failed',
    fromMs: wait.data.sinceMs,
    toMs,
    label: wait.error === undefined ? wait.message : `${wait.message}: ${wait.error}`,
    because: wait.because,
  });
  for (const entry of entries) {
    if (isEntry(entry, 'volume.wait')) waits.set(entry.data.volume, entry);
    else if (isEntry(entry, 'volume.mount', 'volume.map', 'volume.unmount', 'volume.unmap')) {
      const wait = waits.get(entry.data.volume);
      if (wait !== undefined) spans.push(waited(wait, entry.timeMs));
      waits.delete(entry.data.volume);
      spans.push(...work(entry, 'volume'));
    }
  }
  return [...spans, ...[...waits.values()].map((wait) => waited(wait, undefined))];
}

function sandboxSpans(entries: readonly TimelineEntry[]): LaneSpan[] {
  return entries.flatMap((entry): LaneSpan[] => {
    if (!isEntry(entry, 'sandbox.create', 'sandbox.stop')) return [];
    return [...gateSpan(entry), ...work(entry, entry.what === 'sandbox.create' ? 'sandbox' : 'stop')];
  });
}

/** Shorter waits for a turn are no waits. */
const shownWaitMs = 1;

/** The wait for a turn comes before the work. */
function gateSpan(entry: TimelineEntry): LaneSpan[] {
  if (!isEntry(entry, 'sandbox.create', 'container.start') || entry.data === undefined) return [];
  const { waitedMs } = entry.data;
  if (waitedMs < shownWaitMs || entry.durationMs === undefined) return [];
  const toMs = entry.timeMs - entry.durationMs;
  return [
    {
      kind: 'gate',
      fromMs: toMs - waitedMs,
      toMs,
      label: `waited ${formatDuration(waitedMs)} for its turn`,
      because: 'other pods start first, as many at a time as the machine can use',
    },
  ];
}

function containerStates(own: readonly TimelineEntry[]): LaneSpan[] {
  return states(
    own
      .filter((entry): entry is EntryOf<'container.state'> => isEntry(entry, 'container.state'))
      .map((entry) => ({ ...containerState(entry), timeMs: entry.timeMs, because: entry.because })),
  );
}

function containerState({ data: { to, reason, exitCode } }: EntryOf<'container.state'>): State {
  switch (to) {
    case 'running':
      return { kind: 'running', label: 'Running' };
    case 'terminated':
      return exitCode === 0
        ? { kind: 'ended', label: 'Exited with 0' }
        : { kind: 'failed', label: `Exited with ${exitCode}${reason === undefined ? '' : `, ${reason}`}` };
    case 'waiting':
    case 'none':
      return { kind: reason?.includes('BackOff') ? 'back-off' : 'waiting', label: reason ?? 'Waiting' };
  }
}

/** Pulls, starts and stops. */
function containerWork(own: readonly TimelineEntry[]): LaneSpan[] {
  const spans: LaneSpan[] = [];
  let pulling: TimelineEntry | undefined;
  let howFar = '';
  const pulled = (toMs: number | undefined, kind: SpanKind, label: string): void => {
    if (pulling !== undefined)
      spans.push({ kind, fromMs: pulling.timeMs, toMs, label, because: pulling.because });
    pulling = undefined;
    howFar = '';
  };
  for (const entry of own) {
    if (entry.event?.reason === 'Pulling') pulling ??= entry;
    else if (entry.event?.reason === 'Pulled') pulled(entry.timeMs, 'pull', entry.message);
    else if (entry.event?.reason === 'Failed') pulled(entry.timeMs, 'failed', entry.message);
    else if (isEntry(entry, 'image.progress')) howFar = `: ${entry.message}`;
    else if (isEntry(entry, 'container.start')) spans.push(...gateSpan(entry), ...work(entry, 'start'));
    else if (isEntry(entry, 'container.stop')) spans.push(...work(entry, 'stop'));
  }
  if (pulling !== undefined) pulled(undefined, 'pull', `${pulling.message}${howFar}`);
  return spans;
}

function containerMarks(own: readonly TimelineEntry[]): LaneMark[] {
  return own.flatMap((entry): LaneMark[] => {
    if (isEntry(entry, 'probe.liveness', 'probe.readiness', 'probe.startup'))
      return [
        {
          timeMs: entry.timeMs,
          label: `${entry.what.slice('probe.'.length)} probe: ${entry.data.to}`,
          because: entry.because ?? entry.message,
          problem: entry.data.to === 'failure',
        },
      ];
    if (isEntry(entry, 'container.oom')) return [problemMark(entry)];
    const isTold =
      entry.event !== undefined && ['BackOff', 'Unhealthy', 'Failed'].includes(entry.event.reason);
    return isTold ? [problemMark(entry)] : [];
  });
}
