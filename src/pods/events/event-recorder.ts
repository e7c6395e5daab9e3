/** Writes the timeline's events to the API, where users look for them. */
import { Channel, type Clock, isCancelled, sleep } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { isAlreadyExists, isApiError, isNotFound, type KubeApi, resources } from '../../kube-client/index.js';
import type { Timeline, TimelineEntry } from '../../timeline/index.js';
import { type Correlated, EventCorrelator } from './correlator.js';
import { eventNames, eventOf } from './event-object.js';

export interface ApiEventRecorderOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  /** A client with its own limits, so that events never delay anything else; see `eventRate`. */
  readonly api: KubeApi;
  readonly nodeName: string;
  /** The known pod of this UID, if any. */
  readonly podOf?: (uid: string) => Pod | undefined;
  /** The UID of this node, once it is known. */
  readonly nodeUid?: () => string | undefined;
  /** Events wait while pods start or stop, or are resized; default: never. */
  readonly turns?: PodActivity;
  readonly random?: () => number;
}

/** Whether the node's pods are starting or stopping, or being resized. */
export interface PodActivity {
  /** Whether a pod holds a slot to start or stop. */
  readonly podsMove: boolean;
  /** Whether pods are queued to start or stop. */
  readonly podsWait: boolean;
  /** Whether what a pod was given is being made real; default: no. */
  readonly podsResize?: boolean;
}

interface PendingEvent {
  readonly entry: TimelineEntry;
  /** Monotonic milliseconds. */
  readonly takenMs: number;
  /** As of the event: the pod may be gone when the event is written. */
  readonly resourceVersion: string | undefined;
  readonly nodeUid: string | undefined;
}

const queueLimit = 1000;
const mostTries = 12;
const retryMs = 10_000;
/** How long an event waits at most, for pods that are starting, stopping or resized, and for queued ones. */
const patienceMs = { move: 2_000, wait: 20_000 };
const podsLookMs = 500;
/** A resize is mostly over within moments, and people wait for its events. */
const resizeLookMs = 100;
/** How often to forget deleted pods. */
const forgetPeriodMs = 60_000;

export class ApiEventRecorder {
  readonly #options: ApiEventRecorderOptions;
  readonly #queue = new Channel<PendingEvent>(queueLimit);
  readonly #correlator = new EventCorrelator();
  readonly #nameOf = eventNames();
  /** Warnings in the queue. */
  #warnings = 0;
  /** Lost events since the last report. */
  #lost = 0;
  #nodeUid: string | undefined;
  #forgotMs = Number.NEGATIVE_INFINITY;

  constructor(options: ApiEventRecorderOptions) {
    this.#options = options;
  }

  /** Records every event from now on; rejects with `Cancelled` at the end. Queued events are lost then. */
  async run(signal: AbortSignal): Promise<void> {
    const unsubscribe = this.#options.timeline.subscribe((entry) => this.#take(entry));
    try {
      for (;;) {
        const received = await this.#queue.receive(signal);
        if (received.done) return;
        await this.#afterPods(received.value, signal);
        if (isWarning(received.value)) this.#warnings--;
        await this.#record(received.value, signal);
        if (this.#queue.size === 0) this.#tellLost();
      }
    } finally {
      unsubscribe();
    }
  }

  /** Never waits: the callers have other work to do. */
  #take(entry: TimelineEntry): void {
    if (entry.event === undefined) return;
    const resourceVersion =
      entry.pod === undefined ? undefined : this.#options.podOf?.(entry.pod.uid)?.metadata.resourceVersion;
    // Taken once: events of one node stay together, whatever becomes of its object.
    this.#nodeUid ??= this.#options.nodeUid?.();
    const takenMs = this.#options.clock.monotonic();
    const taken = { entry, takenMs, resourceVersion, nodeUid: this.#nodeUid };
    if (!this.#queue.trySend(taken)) this.#lose(`${queueLimit} wait already`);
    else if (isWarning(taken)) this.#warnings++;
  }

  /** Normal events can wait; a warning, and the events before it, do not. */
  async #afterPods({ takenMs }: PendingEvent, signal: AbortSignal): Promise<void> {
    const { clock, turns } = this.#options;
    while (this.#warnings === 0 && clock.monotonic() - takenMs < this.#patienceMs()) {
      const isStarting = turns?.podsMove === true || turns?.podsWait === true;
      await sleep(clock, isStarting ? podsLookMs : resizeLookMs, signal);
    }
  }

  #patienceMs(): number {
    const { turns } = this.#options;
    if (turns?.podsWait === true) return patienceMs.wait;
    return turns?.podsMove === true || turns?.podsResize === true ? patienceMs.move : 0;
  }

  #lose(because: string): void {
    this.#lost++;
    if (this.#lost > 1) return;
    this.#options.timeline.record({
      kind: 'problem',
      what: 'events.lose',
      message: 'events are no longer written to the API; they are only in the timeline',
      because,
      level: 'warn',
    });
  }

  #tellLost(): void {
    if (this.#lost === 0) return;
    const lost = this.#lost;
    const message = `events are written to the API again; ${lost} were not`;
    this.#lost = 0;
    this.#options.timeline.record({ kind: 'notice', what: 'events.resume', message, data: { lost } });
  }

  async #record({ entry, resourceVersion, nodeUid }: PendingEvent, signal: AbortSignal): Promise<void> {
    const { nodeName, clock, random = Math.random } = this.#options;
    this.#forgetGone();
    const event = eventOf(entry, { nodeName, nameOf: this.#nameOf, resourceVersion, nodeUid });
    if (event === undefined) return;
    const correlated = this.#correlator.correlate(event, entry.timeMs);
    // The entry is already in the timeline; one more for each suppressed event would only push others out.
    if (correlated.kind === 'drop') return;
    for (let tries = 1; ; tries++) {
      try {
        await this.#write(correlated, signal);
        return;
      } catch (error) {
        if (isCancelled(error)) throw error;
        // The server has decided; a retry would change nothing.
        if (isApiError(error)) {
          // It exists after a create whose response was lost.
          if (!isAlreadyExists(error)) this.#refused(entry, error);
          return;
        }
        if (tries >= mostTries) {
          this.#lose(`the API was not reached in ${mostTries} tries`);
          return;
        }
        // All nodes lose the API at the same moment and must not return at the same one.
        await sleep(clock, tries === 1 ? random() * retryMs : retryMs, signal);
      }
    }
  }

  #forgetGone(): void {
    const { clock, podOf } = this.#options;
    if (podOf === undefined || clock.monotonic() - this.#forgotMs < forgetPeriodMs) return;
    this.#forgotMs = clock.monotonic();
    this.#correlator.forgetGone((uid) => podOf(uid) !== undefined);
  }

  async #write(correlated: Exclude<Correlated, { kind: 'drop' }>, signal: AbortSignal): Promise<void> {
    const { api } = this.#options;
    const { event } = correlated;
    const { namespace = '', name = '' } = event.metadata;
    const call = { signal, priority: 'background' } as const;
    if (correlated.kind === 'update') {
      try {
        const patch = { type: 'strategic', body: correlated.patch } as const;
        await api.patch(resources.events, { namespace, name }, patch, call);
        return;
      } catch (error) {
        // Events expire after an hour; create this one again.
        if (!isNotFound(error)) throw error;
      }
    }
    await api.create(resources.events, event, call);
  }

  #refused(entry: TimelineEntry, error: unknown): void {
    const { timeline } = this.#options;
    timeline.record({
      kind: 'problem',
      what: 'events.refused',
      message: `the API refused the event ${entry.event?.reason ?? ''}`,
      level: 'warn',
      ...(entry.pod === undefined ? {} : { pod: entry.pod }),
      data: { reason: entry.event?.reason ?? '' },
      error,
    });
  }
}

function isWarning({ entry }: PendingEvent): boolean {
  return entry.event?.type === 'Warning';
}

/** The client limits for events; undefined for none, which a rate of 0 means. */
export function eventRate(config: {
  readonly eventRecordQPS: number;
  readonly eventBurst: number;
}): { readonly qps: number; readonly burst: number } | undefined {
  const { eventRecordQPS: qps, eventBurst: burst } = config;
  return qps === 0 ? undefined : { qps, burst: burst > 0 ? burst : 10 };
}
