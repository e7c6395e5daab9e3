/**
 * Decides whether each event is new, a repetition, or one too many: events must not flood the cluster's
 * store.
 */
import { createHash } from 'node:crypto';
import { BoundedMap, textBytes } from '../../async/index.js';
import { type Event, formatTimestamp } from '../../kube/index.js';

export type Correlated =
  | { readonly kind: 'create'; readonly event: Event }
  /** The event exists already; if it no longer does, `event` is created. */
  | { readonly kind: 'update'; readonly event: Event; readonly patch: EventPatch }
  | { readonly kind: 'drop'; readonly because: string };

export interface EventPatch {
  readonly count: number;
  readonly lastTimestamp: string;
  readonly message: string;
}

const maxEntries = 4096;
const maxBytes = 512 * 1024;
/** The size of an entry besides its texts. */
const entryBytes = 128;
/** From this many different messages on, similar events are merged. */
const similarLimit = 10;
const similarWindowMs = 600_000;
const combinedPrefix = '(combined from similar events): ';
const spamBurst = 25;
const spamRefillMs = 300_000;

/** What is remembered of an object's events; forgotten with the object. */
interface EventMemory {
  /** Undefined for an object without one, the node. */
  readonly uid: string | undefined;
}

interface SimilarEvents extends EventMemory {
  readonly lastMs: number;
  /** Unique, the oldest first. */
  readonly messages: readonly string[];
}

interface WrittenEvent extends EventMemory {
  readonly count: number;
  readonly name: string;
  readonly firstTimestamp: string;
}

interface EventTokenBucket extends EventMemory {
  readonly tokens: number;
  readonly countedMs: number;
}

export class EventCorrelator {
  readonly #similar = new BoundedMap<string, SimilarEvents>({
    maxEntries,
    maxBytes,
    bytesOf: (_, { messages }) => entryBytes + textBytes(...messages),
  });
  readonly #told = new BoundedMap<string, WrittenEvent>({
    maxEntries,
    maxBytes,
    bytesOf: (_, { name, firstTimestamp }) => entryBytes + textBytes(name, firstTimestamp),
  });
  readonly #buckets = new BoundedMap<string, EventTokenBucket>({ maxEntries });

  /** The number of remembered keys. */
  get size(): number {
    return this.#similar.size + this.#told.size + this.#buckets.size;
  }

  /** Forgets deleted objects: their events do not repeat. */
  forgetGone(isPresent: (uid: string) => boolean): void {
    const gone = new Set<string>();
    for (const [, { uid }] of this.#buckets) if (uid !== undefined && !isPresent(uid)) gone.add(uid);
    if (gone.size === 0) return;
    for (const map of [this.#similar, this.#told, this.#buckets]) {
      for (const [key, { uid }] of map) if (uid !== undefined && gone.has(uid)) map.delete(key);
    }
  }

  correlate(given: Event, nowMs: number): Correlated {
    const { event, key } = this.#aggregate(given, nowMs);
    const counted = this.#count(event, key);
    if (!this.#take(given, nowMs)) {
      return { kind: 'drop', because: `more than ${spamBurst} events about the same object in a short time` };
    }
    return counted;
  }

  #aggregate(event: Event, nowMs: number): { event: Event; key: string } {
    const key = similarKey(event);
    const known = this.#similar.get(key);
    const isAlive = known !== undefined && nowMs - known.lastMs <= similarWindowMs;
    const { message = '' } = event;
    const before = isAlive ? known.messages : [];
    // A list with one member is as long as that; a list that grows has room for many.
    const messages = before.length === 0 ? [message] : withMessage(before, message);
    const isTooMany = messages.length >= similarLimit;
    this.#similar.set(key, {
      uid: event.involvedObject.uid,
      lastMs: nowMs,
      // One below the limit, so that they neither grow nor fall far below it again.
      messages: isTooMany ? messages.slice(1) : messages,
    });
    if (!isTooMany) return { event, key: sameKey(event) };
    return { event: { ...event, message: `${combinedPrefix}${event.message ?? ''}` }, key };
  }

  #count(event: Event, key: string): Correlated {
    const told = this.#told.get(key);
    const lastTimestamp = event.lastTimestamp ?? formatTimestamp(0);
    if (told === undefined) {
      this.#told.set(key, {
        uid: event.involvedObject.uid,
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

  #take(event: Event, nowMs: number): boolean {
    const key = spamKey(event);
    const bucket = this.#buckets.get(key) ?? { tokens: spamBurst, countedMs: nowMs };
    const grown = Math.max(0, nowMs - bucket.countedMs) / spamRefillMs;
    const tokens = Math.min(spamBurst, bucket.tokens + grown);
    const isThere = tokens >= 1;
    const { uid } = event.involvedObject;
    this.#buckets.set(key, { uid, tokens: isThere ? tokens - 1 : tokens, countedMs: nowMs });
    return isThere;
  }
}

function withMessage(messages: readonly string[], message: string): readonly string[] {
  return messages.includes(message) ? messages : [...messages, message];
}

function objectParts({ source, involvedObject: object, type }: Event): (string | undefined)[] {
  const { apiVersion, kind, namespace, name, uid } = object;
  return [source?.component, source?.host, apiVersion, kind, namespace, name, uid, type];
}

function spamKey(event: Event): string {
  return digestOf(objectParts(event));
}

function similarKey(event: Event): string {
  const { reason, reportingComponent, reportingInstance } = event;
  return digestOf([...objectParts(event), reason, reportingComponent, reportingInstance]);
}

function sameKey(event: Event): string {
  return digestOf([...objectParts(event), event.involvedObject.fieldPath, event.reason, event.message]);
}

/** Short however long the parts are, and collision-resistant. */
function digestOf(parts: readonly (string | undefined)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}
