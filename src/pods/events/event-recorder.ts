/** Writes the timeline's events to the API, where the users of the cluster look for them. */
import { Channel, type Clock, isCancelled, sleep } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { isAlreadyExists, isApiError, isNotFound, type KubeApi, resources } from '../../kube-client/index.js';
import type { Entry, Timeline } from '../../timeline/index.js';
import { type Correlated, EventCorrelator } from './correlator.js';
import { eventNames, eventOf } from './event-object.js';

export interface ApiEventRecorderOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  /** A client with limits of its own, so that events never hold up anything else; see `eventRate`. */
  readonly api: KubeApi;
  readonly nodeName: string;
  /** The pod as it is known here; undefined when it is not. */
  readonly podOf?: (uid: string) => Pod | undefined;
  /** What tells of pods can wait for them; default: nothing goes on. */
  readonly turns?: PodTurns;
  readonly random?: () => number;
}

/** What is going on with the pods of the node. */
export interface PodTurns {
  /** Whether it is some pod's turn to start or to end. */
  readonly podsMove: boolean;
  /** Whether others wait for their turn. */
  readonly podsWait: boolean;
}

interface Taken {
  readonly entry: Entry;
  /** By the clock that nobody sets. */
  readonly takenMs: number;
  /** As it was then: the pod may be gone when its event is written. */
  readonly resourceVersion: string | undefined;
}

const queueLimit = 1000;
const mostTries = 12;
const retryMs = 10_000;
/** An event waits so long at most for pods that start or end, and for those that wait to. */
const patienceMs = { move: 2_000, wait: 20_000 };
const podsLookMs = 500;
/** How often what is remembered of pods that are gone is forgotten. */
const forgetPeriodMs = 60_000;

export class ApiEventRecorder {
  readonly #options: ApiEventRecorderOptions;
  readonly #queue = new Channel<Taken>(queueLimit);
  readonly #correlator = new EventCorrelator();
  readonly #nameOf = eventNames();
  /** Warnings in the queue. */
  #warnings = 0;
  /** Since it was last told of. */
  #lost = 0;
  #forgotMs = Number.NEGATIVE_INFINITY;

  constructor(options: ApiEventRecorderOptions) {
    this.#options = options;
  }

  /** Takes up every event from now on; rejects with `Cancelled` at the end. Those that still wait are lost then. */
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

  /** Never waits: whoever has something to tell has other things to do. */
  #take(entry: Entry): void {
    if (entry.event === undefined) return;
    const resourceVersion =
      entry.pod === undefined ? undefined : this.#options.podOf?.(entry.pod.uid)?.metadata.resourceVersion;
    const taken = { entry, takenMs: this.#options.clock.monotonic(), resourceVersion };
    if (!this.#queue.trySend(taken)) this.#lose(`${queueLimit} wait already`);
    else if (isWarning(taken)) this.#warnings++;
  }

  /** Nobody waits for an event that tells of what went well; one that warns, and those before it, do not wait. */
  async #afterPods({ takenMs }: Taken, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (this.#warnings === 0 && clock.monotonic() - takenMs < this.#patienceMs()) {
      await sleep(clock, podsLookMs, signal);
    }
  }

  #patienceMs(): number {
    const { turns } = this.#options;
    if (turns?.podsWait === true) return patienceMs.wait;
    return turns?.podsMove === true ? patienceMs.move : 0;
  }

  #lose(because: string): void {
    this.#lost++;
    if (this.#lost > 1) return;
    this.#options.timeline.record({
      kind: 'problem',
      what: 'events.lose',
      message: 'events are not written to the API any more; they are in the timeline only',
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

  async #record({ entry, resourceVersion }: Taken, signal: AbortSignal): Promise<void> {
    const { nodeName, clock, random = Math.random } = this.#options;
    this.#forgetGone();
    const event = eventOf(entry, { nodeName, nameOf: this.#nameOf, resourceVersion });
    if (event === undefined) return;
    const correlated = this.#correlator.correlate(event, entry.timeMs);
    // The entry itself is in the timeline; one more for each that is held back would only push others out of it.
    if (correlated.kind === 'drop') return;
    for (let tries = 1; ; tries++) {
      try {
        await this.#write(correlated, signal);
        return;
      } catch (error) {
        if (isCancelled(error)) throw error;
        // The server has decided; to ask again would change nothing.
        if (isApiError(error)) {
          // As after a create whose answer was lost.
          if (!isAlreadyExists(error)) this.#refused(entry, error);
          return;
        }
        if (tries >= mostTries) {
          this.#lose(`the API was not reached in ${mostTries} tries`);
          return;
        }
        // All nodes lose the API at the same moment and must not come back at the same one.
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
        // Events live for an hour; this one begins anew.
        if (!isNotFound(error)) throw error;
      }
    }
    await api.create(resources.events, event, call);
  }

  #refused(entry: Entry, error: unknown): void {
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

function isWarning({ entry }: Taken): boolean {
  return entry.event?.type === 'Warning';
}

/** The limits of the client for events. A rate of 0 falls back to the client's own 5 a second. */
export function eventRate(config: { readonly eventRecordQPS: number; readonly eventBurst: number }): {
  readonly qps: number;
  readonly burst: number;
} {
  const { eventRecordQPS: qps, eventBurst: burst } = config;
  return { qps: qps > 0 ? qps : 5, burst: burst > 0 ? burst : 10 };
}
