/** The last entries of a pod or of the node, as many as fit. */
import { textBytes } from '../async/index.js';
import type { EventInfo, PodRef, TimelineEntry } from './entry.js';
import type { DataValue } from './entry-data.js';

export interface RingLimits {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

export class Ring {
  readonly #limits: RingLimits;
  readonly #entries: TimelineEntry[] = [];
  #pod: PodRef | undefined;
  #bytes = 0;

  constructor(limits: RingLimits) {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns by how much the ring has grown, which is less than nothing when older entries had to go. */
  add(entry: TimelineEntry): number {
    const beforeBytes = this.#bytes;
    this.#entries.push(entry);
    this.#bytes += entryBytes(entry);
    const { maxEntries, maxBytes } = this.#limits;
    while (this.#entries.length > 1 && (this.#entries.length > maxEntries || this.#bytes > maxBytes)) {
      const oldest = this.#entries.shift();
      if (oldest !== undefined) this.#bytes -= entryBytes(oldest);
    }
    return this.#bytes - beforeBytes;
  }

  list(): readonly TimelineEntry[] {
    return [...this.#entries];
  }

  /** The last time that this event was recorded with this message. */
  lastOfEvent(message: string, about: EventInfo): TimelineEntry | undefined {
    for (let index = this.#entries.length - 1; index >= 0; index--) {
      const entry = this.#entries[index];
      if (entry?.event !== undefined && entry.message === message && isSameEvent(entry.event, about))
        return entry;
    }
    return undefined;
  }

  /** Who records makes a new reference to the pod each time; one for all entries will do. */
  shared(pod: PodRef): PodRef {
    const known = this.#pod;
    if (known?.uid === pod.uid && known.name === pod.name && known.namespace === pod.namespace) return known;
    this.#pod = pod;
    return pod;
  }
}

function isSameEvent(a: EventInfo, b: EventInfo): boolean {
  if (a.reason !== b.reason || a.fieldPath !== b.fieldPath || a.node !== b.node) return false;
  return a.claim?.uid === b.claim?.uid && a.volume?.uid === b.volume?.uid;
}

/** The entry itself, its numbers and its places in arrays. */
const fixedBytes = 160;
/** Of an object inside, and of each of its fields. */
const objectBytes = 48;

/** About what an entry takes in memory, beside the pod that it shares with others. */
export function entryBytes({ what, message, because, error, data, event }: TimelineEntry): number {
  let bytes = fixedBytes + textBytes(message, because, error);
  // Most are constants of the program; those that are not are short.
  bytes += what.startsWith('event.') ? textBytes(what) : 0;
  if (event !== undefined) bytes += objectBytes + textBytes(event.fieldPath);
  if (data !== undefined) bytes += objectBytes + valuesBytes(data);
  return bytes;
}

function valuesBytes(object: Readonly<Record<string, DataValue>>): number {
  let bytes = 0;
  for (const value of Object.values(object)) {
    bytes += 8;
    if (typeof value === 'string') bytes += textBytes(value);
    else if (typeof value === 'object') {
      for (const step of value) bytes += 8 + objectBytes + valuesBytes(step);
    }
  }
  return bytes;
}
