/** Where the time of a pod went, from what its agent noted and what a watch on the API's side was told. */
import { isEntry, type TimelineEntry } from '../../src/timeline/index.js';

/** In the order of a pod's life; `queue` is what is left: turns, and the agent's own steps. */
export const startSteps = ['api', 'queue', 'volumes', 'sandbox', 'create', 'start', 'status'] as const;
export const endSteps = ['api', 'queue', 'stop', 'sandbox', 'volumes', 'status'] as const;
export type StartStep = (typeof startSteps)[number];
export type EndStep = (typeof endSteps)[number];

/** Milliseconds of the wall clock. */
export interface PodSpan {
  readonly fromMs: number;
  /** A watch was told of the pod, or of its deletion; without an API that is `fromMs`. */
  readonly toldMs: number;
  readonly toMs: number;
}

type Steps<Step extends string> = Record<Step, number>;

/** From the entries of one pod, in milliseconds; their sum is the span. */
export function startStepsOf(entries: readonly TimelineEntry[], span: PodSpan): Steps<StartStep> {
  const own = entries.filter(({ timeMs }) => timeMs >= span.fromMs && timeMs <= span.toMs);
  const started = own.filter((entry) => isEntry(entry, 'container.start'));
  const create = sum(
    started.map((entry) => {
      const created = own.find((other) => isOf(entry, other) && other.event?.reason === 'Created');
      return created === undefined ? 0 : created.timeMs - beganMs(entry);
    }),
  );
  const startedMs = Math.max(span.toldMs, ...started.map(({ timeMs }) => timeMs));
  const known = {
    api: span.toldMs - span.fromMs,
    volumes: covered(own.filter((entry) => isEntry(entry, 'volume.mount', 'volume.map'))),
    sandbox: covered(own.filter((entry) => isEntry(entry, 'sandbox.create'))),
    create,
    start: covered(started) - create,
    status: span.toMs - startedMs,
  };
  return { ...known, queue: rest(span, known) };
}

export function endStepsOf(entries: readonly TimelineEntry[], span: PodSpan): Steps<EndStep> {
  const own = entries.filter(({ timeMs }) => timeMs >= span.fromMs && timeMs <= span.toMs);
  const work = own.filter((entry) => isEntry(entry, 'container.stop', 'sandbox.stop', 'volume.unmount'));
  const workedMs = Math.max(span.toldMs, ...work.map(({ timeMs }) => timeMs));
  const known = {
    api: span.toldMs - span.fromMs,
    stop: covered(own.filter((entry) => isEntry(entry, 'container.stop'))),
    sandbox: covered(own.filter((entry) => isEntry(entry, 'sandbox.stop'))),
    volumes: covered(own.filter((entry) => isEntry(entry, 'volume.unmount', 'volume.unmap'))),
    status: span.toMs - workedMs,
  };
  return { ...known, queue: rest(span, known) };
}

/** When the agent had the pod ready; `undefined` if it never was. */
export function readyAtMs(entries: readonly TimelineEntry[]): number | undefined {
  return entries.find((entry) => isEntry(entry, 'pod.ready') && entry.data.to === 'True')?.timeMs;
}

/** When the agent had nothing left to do for the pod. */
export function finishedAtMs(entries: readonly TimelineEntry[]): number | undefined {
  return entries.find((entry) => isEntry(entry, 'pod.finished'))?.timeMs;
}

/** The entries of each pod by its name, oldest first. */
export function byPod(entries: readonly TimelineEntry[]): ReadonlyMap<string, readonly TimelineEntry[]> {
  const found = new Map<string, TimelineEntry[]>();
  for (const entry of entries) {
    if (entry.pod === undefined) continue;
    const own = found.get(entry.pod.name);
    if (own === undefined) found.set(entry.pod.name, [entry]);
    else own.push(entry);
  }
  return found;
}

const beganMs = ({ timeMs, durationMs = 0 }: TimelineEntry): number => timeMs - durationMs;

function isOf(start: TimelineEntry, { container, event, timeMs }: TimelineEntry): boolean {
  const isNamed = container === start.container || event?.fieldPath === `spec.containers{${start.container}}`;
  return isNamed && timeMs >= Math.floor(beganMs(start)) && timeMs <= start.timeMs;
}

/** Time in which at least one of them was under way. */
function covered(entries: readonly TimelineEntry[]): number {
  const spans = entries
    .map((entry) => ({ fromMs: beganMs(entry), toMs: entry.timeMs }))
    .sort((a, b) => a.fromMs - b.fromMs);
  let endMs = Number.NEGATIVE_INFINITY;
  let coveredMs = 0;
  for (const { fromMs, toMs } of spans) {
    if (toMs <= endMs) continue;
    coveredMs += toMs - Math.max(fromMs, endMs);
    endMs = toMs;
  }
  return coveredMs;
}

/** Steps that overlap, such as a stop while a watch is told, leave nothing to wait for. */
function rest({ fromMs, toMs }: PodSpan, known: Readonly<Record<string, number>>): number {
  return Math.max(0, toMs - fromMs - sum(Object.values(known)));
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
