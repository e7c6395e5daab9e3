/** The flight recorder: a bounded ring of entries per pod and one for the node, with readers that see every entry. */
import { type Clock, systemClock } from '../async/index.js';
import {
  describeError,
  type Entry,
  type EntryInit,
  type EventInfo,
  type Level,
  type PodRef,
} from './entry.js';

export interface TimelineOptions {
  readonly clock?: Clock;
  /** Entries kept of each pod. */
  readonly entriesPerPod?: number;
  /** Pods remembered; the pod without entries for longest is forgotten first. */
  readonly maxPods?: number;
  /** Entries kept that are about no pod. */
  readonly nodeEntries?: number;
}

export type Reader = (entry: Entry) => void;

class Ring {
  readonly #limit: number;
  #entries: Entry[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    // Cutting in halves keeps the cost of an entry constant.
    if (this.#entries.length >= this.#limit * 2) this.#entries = this.#entries.slice(-this.#limit);
  }

  list(): readonly Entry[] {
    return this.#entries.slice(-this.#limit);
  }
}

const defaultLevels: Readonly<Record<EntryInit['kind'], Level>> = {
  decision: 'info',
  transition: 'info',
  effect: 'info',
  observation: 'debug',
  event: 'info',
  problem: 'error',
  notice: 'info',
};

/** Events that are remembered to tell repetitions from news, and for how long. */
const rememberedEvents = 1000;
const repeatWindowMs = 600_000;

export class Timeline {
  readonly #clock: Clock;
  readonly #entriesPerPod: number;
  readonly #maxPods: number;
  readonly #pods = new Map<string, Ring>();
  readonly #node: Ring;
  readonly #readers = new Set<Reader>();
  readonly #toldEvents = new Map<string, number>();
  #seq = 0;

  constructor(options: TimelineOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#entriesPerPod = options.entriesPerPod ?? 256;
    this.#maxPods = options.maxPods ?? 1024;
    this.#node = new Ring(options.nodeEntries ?? 1024);
  }

  record(init: EntryInit): Entry {
    const { error, level, ...rest } = init;
    const entry: Entry = {
      ...rest,
      seq: ++this.#seq,
      timeMs: this.#clock.now(),
      level: level ?? (init.event?.type === 'Warning' ? 'warn' : defaultLevels[init.kind]),
      ...(error === undefined ? {} : { error: describeError(error) }),
    };
    this.#ringOf(entry.pod).add(entry);
    for (const reader of this.#readers) reader(entry);
    return entry;
  }

  /** Records a Kubernetes event about a pod. */
  event(pod: PodRef, type: EventInfo['type'], reason: string, message: string, fieldPath?: string): Entry {
    return this.record({
      kind: 'event',
      what: `event.${reason}`,
      message,
      ...this.#repeatLevel(`${pod.uid} ${fieldPath} ${reason} ${message}`),
      ...containerOf(fieldPath),
      pod: { uid: pod.uid, name: pod.name, namespace: pod.namespace },
      event: { type, reason, ...(fieldPath === undefined ? {} : { fieldPath }) },
    });
  }

  /** Records a Kubernetes event about the node. */
  nodeEvent(node: string, type: EventInfo['type'], reason: string, message: string): Entry {
    return this.record({
      kind: 'event',
      what: `event.${reason}`,
      message,
      ...this.#repeatLevel(`${node} ${reason} ${message}`),
      event: { type, reason, node },
    });
  }

  /** The entries of a pod that are still kept, oldest first. */
  ofPod(uid: string): readonly Entry[] {
    return this.#pods.get(uid)?.list() ?? [];
  }

  /** The entries that are about no pod, oldest first. */
  ofNode(): readonly Entry[] {
    return this.#node.list();
  }

  /** The UIDs of the pods that have entries, the most recently touched last. */
  pods(): readonly string[] {
    return [...this.#pods.keys()];
  }

  /** Adds a reader that is called with every entry, synchronously; returns how to remove it. */
  subscribe(reader: Reader): () => void {
    this.#readers.add(reader);
    return () => void this.#readers.delete(reader);
  }

  /** An event that was told a short while ago is still recorded, but no reader need shout it again. */
  #repeatLevel(key: string): { level?: Level } {
    const nowMs = this.#clock.now();
    const toldMs = this.#toldEvents.get(key);
    this.#toldEvents.delete(key);
    this.#toldEvents.set(key, nowMs);
    if (this.#toldEvents.size > rememberedEvents) {
      const oldest = this.#toldEvents.keys().next();
      if (!oldest.done) this.#toldEvents.delete(oldest.value);
    }
    return toldMs !== undefined && nowMs - toldMs < repeatWindowMs ? { level: 'debug' } : {};
  }

  #ringOf(pod: PodRef | undefined): Ring {
    if (pod === undefined) return this.#node;
    const ring = this.#pods.get(pod.uid) ?? new Ring(this.#entriesPerPod);
    this.#pods.delete(pod.uid);
    this.#pods.set(pod.uid, ring);
    if (this.#pods.size > this.#maxPods) {
      for (const oldest of this.#pods.keys()) {
        this.#pods.delete(oldest);
        break;
      }
    }
    return ring;
  }
}

/** The container that a field path such as `spec.containers{app}` names. */
function containerOf(fieldPath: string | undefined): { container?: string } {
  const [, container] = /\{(.+)\}$/.exec(fieldPath ?? '') ?? [];
  return container === undefined ? {} : { container };
}

/** The reference to a pod object that entries carry. */
export function podRef(pod: { metadata: { uid?: string; name?: string; namespace?: string } }): PodRef {
  const { uid = '', name = '', namespace = '' } = pod.metadata;
  return { uid, name, namespace };
}
