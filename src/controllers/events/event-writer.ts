/** Writes the controllers' events to the API, one after another; repetitions raise the count of the first. */
import { BoundedMap, type Clock, isCancelled } from '../../async/index.js';
import { type Event, formatTimestamp } from '../../kube/index.js';
import { apiVersionOf, isNotFound, type KubeApi, resources } from '../../kube-client/index.js';
import type { Timeline } from '../../timeline/index.js';
import { controllerLimits } from '../limits.js';
import type { ObjectEvent, ObjectEvents } from './object-events.js';

interface WrittenObjectEvent {
  readonly name: string;
  readonly count: number;
}

export interface EventWriterOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly timeline: Pick<Timeline, 'record'>;
  readonly nodeName: string;
}

export class EventWriter implements ObjectEvents {
  readonly #options: EventWriterOptions;
  readonly #waiting: { readonly event: ObjectEvent; readonly timeMs: number }[] = [];
  readonly #written = new BoundedMap<string, WrittenObjectEvent>({
    maxEntries: controllerLimits.rememberedEvents,
  });
  #wake: () => void = () => {};
  #serial = 0;

  constructor(options: EventWriterOptions) {
    this.#options = options;
  }

  record(event: ObjectEvent): void {
    if (this.#waiting.length >= controllerLimits.waitingEvents) return;
    this.#waiting.push({ event, timeMs: this.#options.clock.now() });
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const onAbort = (): void => this.#wake();
    signal.addEventListener('abort', onAbort);
    try {
      while (!signal.aborted) {
        const next = this.#waiting.shift();
        if (next === undefined) await this.#more(signal);
        else await this.#write(next.event, next.timeMs, signal);
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #more(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (signal.aborted || this.#waiting.length > 0) resolve();
    });
  }

  async #write(given: ObjectEvent, timeMs: number, signal: AbortSignal): Promise<void> {
    const { api, timeline } = this.#options;
    const event = this.#eventOf(given, timeMs);
    const { namespace = 'default' } = event.metadata;
    const key = JSON.stringify([given.object.metadata.uid, given.type, given.reason, given.message]);
    const known = this.#written.use(key);
    try {
      if (known !== undefined) {
        const count = known.count + 1;
        const body = { count, lastTimestamp: event.lastTimestamp };
        const ref = { namespace, name: known.name };
        const isThere = await api.patch(resources.events, ref, { type: 'merge', body }, { signal }).then(
          () => true,
          (error) => {
            if (isNotFound(error)) return false;
            throw error;
          },
        );
        if (isThere) {
          this.#written.set(key, { ...known, count });
          return;
        }
      }
      await api.create(resources.events, event, { signal });
      this.#written.set(key, { name: event.metadata.name ?? '', count: 1 });
    } catch (error) {
      if (isCancelled(error) || isNamespaceGone(error)) return;
      timeline.record({
        kind: 'problem',
        what: 'controller.event',
        level: 'warn',
        message: `The event ${given.reason} of ${given.resource.kind} ${event.involvedObject.name} could not be written`,
        error,
      });
    }
  }

  #eventOf(
    { component, resource, object, type, reason, message, action }: ObjectEvent,
    timeMs: number,
  ): Event {
    const { name = '', namespace, uid, resourceVersion } = object.metadata;
    const timestamp = formatTimestamp(timeMs);
    const serial = (timeMs * 1000 + (this.#serial++ % 1000)).toString(16);
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${name}.${serial}`, namespace: namespace ?? 'default' },
      involvedObject: {
        apiVersion: apiVersionOf(resource),
        kind: resource.kind,
        name,
        ...(namespace === undefined ? {} : { namespace }),
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      },
      type,
      reason,
      message: message.slice(0, controllerLimits.eventMessageChars),
      source: { component },
      reportingComponent: component,
      reportingInstance: this.#options.nodeName,
      ...(action === undefined ? {} : { action }),
      firstTimestamp: timestamp,
      lastTimestamp: timestamp,
      count: 1,
    };
  }
}

/** The namespace is gone or goes: nobody will read the event. */
function isNamespaceGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 403 || error.code === 404);
}
