/**
 * Reads the timeline into traces: one for the start of each pod, from the moment a source shows it until it is ready.
 * What took time becomes a span with the name of its entry, everything else an event of the span it happened in.
 */
import { BoundedMap } from '../../async/index.js';
import type { TimelineEntry } from '../../timeline/index.js';
import { traceLimits } from '../limits.js';
import type { CallerTrace, TraceContext } from '../trace-context.js';
import { type Attributes, podAttributes } from '../tracer.js';
import type { RecordedSpan } from './recorded-span.js';
import type { RecordingTracer } from './recording-tracer.js';

/** How the start of a pod ended. */
export type StartOutcome = 'ready' | 'ended' | 'late' | 'agent stopped';

interface PodTrace {
  /** The start of the pod; absent for a pod that was here before its trace could begin. */
  readonly start: RecordedSpan | undefined;
  /** The step that the pod is in, or was in last. */
  step: RecordedSpan | undefined;
  spans: number;
  /** When the last of its containers was started. */
  startedMs: number | undefined;
  /** Whether the cluster was told how the start ended. */
  isReported: boolean;
}

/** Where a span of a pod belongs. */
export interface SpanPlace {
  readonly parent: CallerTrace | undefined;
  readonly links: readonly TraceContext[];
}

export class PodTraces {
  readonly #tracer: Pick<RecordingTracer, 'place' | 'nowMs'>;
  readonly #pods = new BoundedMap<string, PodTrace>({ maxEntries: traceLimits.tracedPods });

  constructor(tracer: Pick<RecordingTracer, 'place' | 'nowMs'>) {
    this.#tracer = tracer;
  }

  /** A step belongs to the start of its pod while that lasts; later ones are traces of their own that name it. */
  placeOf(uid: string, isReport: boolean): SpanPlace {
    const pod = this.#pods.get(uid);
    const start = pod?.start;
    if (pod === undefined || start === undefined) return { parent: undefined, links: [] };
    this.#closeIfLate(pod);
    const isLastReport = isReport && !pod.isReported && start.isEnded;
    if (isLastReport) pod.isReported = true;
    if (isLastReport || (!start.isEnded && this.#hasRoom(pod))) return { parent: start.trace, links: [] };
    return { parent: undefined, links: start.trace.context.sampled ? [start.trace.context] : [] };
  }

  stepBegan(uid: string, span: RecordedSpan): void {
    const pod = this.#pods.get(uid);
    if (pod !== undefined) pod.step = span;
    else this.#pods.set(uid, { ...newTrace(undefined), step: span });
  }

  /** A reader of the timeline. */
  read(entry: TimelineEntry): void {
    if (entry.pod === undefined) return;
    const { uid } = entry.pod;
    if (entry.what === 'pod.seen') {
      this.#begin(entry);
      return;
    }
    const pod = this.#pods.get(uid);
    if (pod === undefined) return;
    this.#closeIfLate(pod);
    this.#show(pod, entry);
    switch (entry.what) {
      case 'container.start':
        if (entry.durationMs !== undefined) pod.startedMs = this.#tracer.nowMs();
        break;
      case 'pod.ready':
        if (entry.data.to === 'True') endStart(pod, 'ready');
        break;
      case 'pod.phase':
        if (entry.data.to === 'Succeeded' || entry.data.to === 'Failed') endStart(pod, 'ended');
        break;
      case 'pod.terminating':
        endStart(pod, 'ended');
        break;
      case 'pod.finished':
        endStart(pod, 'ended');
        this.#pods.delete(uid);
        break;
    }
  }

  /** Ends what is open. */
  close(): void {
    for (const [uid, pod] of [...this.#pods]) {
      endStart(pod, 'agent stopped');
      this.#pods.delete(uid);
    }
  }

  #begin({ pod, durationMs = 0, data }: TimelineEntry): void {
    if (pod === undefined || this.#pods.get(pod.uid)?.start?.isEnded === false) return;
    const start = this.#tracer.place({
      name: 'startPod',
      attributes: { ...podAttributes(pod), ...dataAttributes(data) },
      parent: undefined,
      startMs: this.#tracer.nowMs() - durationMs,
    });
    this.#pods.set(pod.uid, newTrace(start));
  }

  #show(pod: PodTrace, entry: TimelineEntry): void {
    const { start, step } = pod;
    const inside = step?.isEnded === false ? step : start?.isEnded === false ? start : undefined;
    if (inside?.trace.context.sampled !== true) return;
    const attributes: Attributes = {
      'k8s.container.name': entry.container,
      ...dataAttributes(entry.data),
    };
    const began = this.#beganMs(pod, entry);
    if (began === undefined || !this.#hasRoom(pod)) {
      inside.event(entry.what, attributes);
      return;
    }
    pod.spans++;
    const isOfStart = entry.what === 'pod.admit' || entry.what === 'pod.ready';
    const parent = isOfStart && start !== undefined ? start.trace : inside.trace;
    const span = this.#tracer.place({ name: entry.what, attributes, parent, startMs: began });
    if (entry.error !== undefined && entry.cancelled !== true) span.fail(entry.error);
    span.end();
  }

  /** When that began which the entry tells the end of; undefined for what took no time. */
  #beganMs({ start, startedMs }: PodTrace, entry: TimelineEntry): number | undefined {
    const nowMs = this.#tracer.nowMs();
    const isStarting = start?.isEnded === false;
    if (entry.what === 'pod.admit') return isStarting ? start.startMs : undefined;
    // From the start of its last container on, a pod waits for its probes.
    if (entry.what === 'pod.ready') return isStarting && entry.data.to === 'True' ? startedMs : undefined;
    return entry.durationMs === undefined ? undefined : nowMs - entry.durationMs;
  }

  #hasRoom(pod: PodTrace): boolean {
    return pod.spans < traceLimits.podSpans;
  }

  #closeIfLate(pod: PodTrace): void {
    const { start } = pod;
    if (start !== undefined && this.#tracer.nowMs() - start.startMs > traceLimits.podStartMs)
      endStart(pod, 'late');
  }
}

function newTrace(start: RecordedSpan | undefined): PodTrace {
  return { start, step: undefined, spans: 0, startedMs: undefined, isReported: false };
}

function endStart({ start }: PodTrace, outcome: StartOutcome): void {
  if (start === undefined || start.isEnded) return;
  start.set({ 'nodelet.outcome': outcome });
  start.end();
}

/** The data of an entry, without its lists. Entries hold no secrets: the log shows them, too. */
function dataAttributes(data: TimelineEntry['data']): Attributes {
  const shown: Record<string, string | number | boolean> = {};
  for (const [key, value] of Object.entries(data ?? {})) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      shown[`nodelet.${key}`] = value;
  }
  return shown;
}
