/** Decides of each event whether it is news, one more of the same, or too many: the cluster's store must not drown in them. */
import { type Event, formatTimestamp } from '../../kube/index.js';
import { RecentMap } from './recent-map.js';

export type Correlated =
  | { readonly kind: 'create'; readonly event: Event }
  /** The event is there already; when it is not any more, `event` is created. */
  | { readonly kind: 'update'; readonly event: Event; readonly patch: EventPatch }
  | { readonly kind: 'drop'; readonly because: string };

export interface EventPatch {
  readonly count: number;
  readonly lastTimestamp: string;
  readonly message: string;
}

const rememberedKeys = 4096;
/** From this many different messages on, similar events become one. */
const similarLimit = 10;
const similarWindowMs = 600_000;
const combinedPrefix = '(combined from similar events): ';
const spamBurst = 25;
const spamRefillMs = 300_000;

interface Similar {
  readonly lastMs: number;
  readonly messages: ReadonlySet<string>;
}

interface Told {
  readonly count: number;
  readonly name: string;
  readonly firstTimestamp: string;
}

interface Bucket {
  readonly tokens: number;
  readonly countedMs: number;
}

export class EventCorrelator {
  readonly #similar = new RecentMap<string, Similar>(rememberedKeys);
  readonly #told = new RecentMap<string, Told>(rememberedKeys);
  readonly #buckets = new RecentMap<string, Bucket>(rememberedKeys);

  correlate(given: Event, nowMs: number): Correlated {
    const { event, key } = this.#aggregate(given, nowMs);
    const counted = this.#count(event, key);
    if (!this.#take(spamKey(given), nowMs)) {
      return { kind: 'drop', because: `more than ${spamBurst} events about the same object in a short time` };
    }
    return counted;
  }

  #aggregate(event: Event, nowMs: number): { event: Event; key: string } {
    const key = similarKey(event);
    const known = this.#similar.get(key);
    const isAlive = known !== undefined && nowMs - known.lastMs <= similarWindowMs;
    const messages = new Set(isAlive ? known.messages : []);
    messages.add(event.message ?? '');
    const isTooMany = messages.size >= similarLimit;
    if (isTooMany) {
      // The set stays at its limit, so that it neither grows nor falls below it again.
      for (const message of messages) {
        messages.delete(message);
        break;
      }
    }
    this.#similar.set(key, { lastMs: nowMs, messages });
    if (!isTooMany) return { event, key: sameKey(event) };
    return { event: { ...event, message: `${combinedPrefix}${event.message ?? ''}` }, key };
  }

  #count(event: Event, key: string): Correlated {
    const told = this.#told.get(key);
    const lastTimestamp = event.lastTimestamp ?? formatTimestamp(0);
    if (told === undefined) {
      this.#told.set(key, {
        count: 1,
        name: event.metadata.name ?? '',
        firstTimestamp: event.firstTimestamp ?? lastTimestamp,
      });
      return { kind: 'create', event };
    }
    const count = told.count + 1;
    this.#told.set(key, { ...told, count });
    return {
      kind: 'update',
      event: {
        ...event,
        metadata: { ...event.metadata, name: told.name },
        firstTimestamp: told.firstTimestamp,
        count,
      },
      patch: { count, lastTimestamp, message: event.message ?? '' },
    };
  }

  #take(key: string, nowMs: number): boolean {
    const bucket = this.#buckets.get(key) ?? { tokens: spamBurst, countedMs: nowMs };
    const grown = Math.max(0, nowMs - bucket.countedMs) / spamRefillMs;
    const tokens = Math.min(spamBurst, bucket.tokens + grown);
    const isThere = tokens >= 1;
    this.#buckets.set(key, { tokens: isThere ? tokens - 1 : tokens, countedMs: nowMs });
    return isThere;
  }
}

function objectParts({ source, involvedObject: object, type }: Event): (string | undefined)[] {
  const { apiVersion, kind, namespace, name, uid } = object;
  return [source?.component, source?.host, apiVersion, kind, namespace, name, uid, type];
}

function spamKey(event: Event): string {
  return JSON.stringify(objectParts(event));
}

function similarKey(event: Event): string {
  const { reason, reportingComponent, reportingInstance } = event;
  return JSON.stringify([...objectParts(event), reason, reportingComponent, reportingInstance]);
}

function sameKey(event: Event): string {
  return JSON.stringify([...objectParts(event), event.involvedObject.fieldPath, event.reason, event.message]);
}
