/** The flight recorder: a bounded ring of entries per pod and one for the node, with readers that see every entry. */
import { type Clock, isCausedByCancellation, systemClock } from '../async/index.js';
import {
  describeError,
  type EntryInit,
  type EntryLevel,
  type EventInfo,
  type PodRef,
  type TimelineEntry,
} from './entry.js';
import { Ring } from './ring.js';

export interface TimelineOptions {
  readonly clock?: Clock;
  /** Entries kept of each pod. Default 256. */
  readonly entriesPerPod?: number;
  /** What the entries kept of each pod take. Default 128 KiB. */
  readonly bytesPerPod?: number;
  /** Pods remembered; the pod without entries for longest is forgotten first. Default 1024. */
  readonly maxPods?: number;
  /** What the entries of all pods take; beyond it, too, the pod without entries for longest goes. Default 16 MiB. */
  readonly maxBytes?: number;
  /** What the entries of pods take that the node does not have any more; see `boundGone`. Default 1 MiB. */
  readonly goneBytes?: number;
  /** Entries kept that are about no pod. Default 1024. */
  readonly nodeEntries?: number;
  /** What the entries take that are about no pod. Default 512 KiB. */
  readonly nodeBytes?: number;
}

const defaults: Required<Omit<TimelineOptions, 'clock'>> = {
  entriesPerPod: 256,
  bytesPerPod: 128 * 1024,
  maxPods: 1024,
  maxBytes: 16 * 1024 * 1024,
  goneBytes: 1024 * 1024,
  nodeEntries: 1024,
  nodeBytes: 512 * 1024,
};

export type TimelineReader = (entry: TimelineEntry) => void;

const defaultLevels: Readonly<Record<EntryInit['kind'], EntryLevel>> = {
  decision: 'info',
  transition: 'info',
  effect: 'info',
  observation: 'debug',
  event: 'info',
  problem: 'error',
  notice: 'info',
};

/** For how long an event is no news when it is told again. */
const repeatWindowMs = 600_000;

export class Timeline {
  #clock: Clock;
  readonly #limits: typeof defaults;
  /** The pod without entries for longest comes first. */
  readonly #pods = new Map<string, Ring>();
  /** What all of them take. */
  #podBytes = 0;
  readonly #node: Ring;
  readonly #readers = new Set<TimelineReader>();
  #seq = 0;

  constructor({ clock = systemClock, ...limits }: TimelineOptions = {}) {
    this.#clock = clock;
    this.#limits = { ...defaults, ...limits };
    const { nodeEntries, nodeBytes } = this.#limits;
    this.#node = new Ring({ maxEntries: nodeEntries, maxBytes: nodeBytes });
  }

  /** Entries made by the work have the times of another clock: that of a recorded kubelet stands still within a turn. */
  stampedBy<T>(clock: Clock, work: () => T): T {
    const own = this.#clock;
    this.#clock = clock;
    try {
      return work();
    } finally {
      this.#clock = own;
    }
  }

  record(init: EntryInit): TimelineEntry {
    const { error, level, message, because, pod, ...rest } = init;
    const ring = pod === undefined ? this.#node : this.#ringOf(pod.uid);
    const entry: TimelineEntry = {
      ...rest,
      message: clipped(message),
      ...(because === undefined ? {} : { because: clipped(because) }),
      ...(pod === undefined ? {} : { pod: ring.shared(pod) }),
      seq: ++this.#seq,
      timeMs: this.#clock.now(),
      level: level ?? (init.event?.type === 'Warning' ? 'warn' : defaultLevels[init.kind]),
      ...(error === undefined ? {} : { error: clipped(describeError(error)) }),
      ...(isCausedByCancellation(error) ? { cancelled: true } : {}),
    };
    const grownBytes = ring.add(entry);
    if (pod !== undefined) this.#bound(pod.uid, grownBytes);
    for (const reader of this.#readers) reader(entry);
    return entry;
  }

  /** Records a Kubernetes event about a pod. */
  event(
    pod: PodRef,
    type: EventInfo['type'],
    reason: string,
    message: string,
    fieldPath?: string,
  ): TimelineEntry {
    const event: EventInfo = { type, reason, ...(fieldPath === undefined ? {} : { fieldPath }) };
    return this.record({
      kind: 'event',
      what: `event.${reason}`,
      message,
      ...this.#repeatLevel(this.#pods.get(pod.uid), message, event),
      ...containerOf(fieldPath),
      pod: { uid: pod.uid, name: pod.name, namespace: pod.namespace },
      event,
    });
  }

  /** Records a Kubernetes event about the node. */
  nodeEvent(node: string, type: EventInfo['type'], reason: string, message: string): TimelineEntry {
    return this.#eventOfNode(message, { type, reason, node });
  }

  /** The same about a PersistentVolumeClaim. */
  claimEvent(
    { namespace, name, uid }: { readonly namespace: string; readonly name: string; readonly uid: string },
    type: EventInfo['type'],
    reason: string,
    message: string,
  ): TimelineEntry {
    return this.#eventOfNode(message, { type, reason, claim: { namespace, name, uid } });
  }

  /** The same about a PersistentVolume. */
  volumeEvent(
    { name, uid }: { readonly name: string; readonly uid: string },
    type: EventInfo['type'],
    reason: string,
    message: string,
  ): TimelineEntry {
    return this.#eventOfNode(message, { type, reason, volume: { name, uid } });
  }

  #eventOfNode(message: string, event: EventInfo): TimelineEntry {
    return this.record({
      kind: 'event',
      what: `event.${event.reason}`,
      message,
      ...this.#repeatLevel(this.#node, message, event),
      event,
    });
  }

  /** The entries of a pod that are still kept, oldest first. */
  ofPod(uid: string): readonly TimelineEntry[] {
    return this.#pods.get(uid)?.list() ?? [];
  }

  /** The entries that are about no pod, oldest first. */
  ofNode(): readonly TimelineEntry[] {
    return this.#node.list();
  }

  /** The UIDs of the pods that have entries, the most recently touched last. */
  pods(): readonly string[] {
    return [...this.#pods.keys()];
  }

  /** What is kept of all pods, as `entryBytes` counts it. */
  get podBytes(): number {
    return this.#podBytes;
  }

  /** Of pods that are not among those that the node has only the last ones are kept, and no more than `goneBytes` of them. */
  boundGone(present: ReadonlySet<string>): void {
    let goneBytes = 0;
    for (const [uid, { bytes }] of this.#pods) if (!present.has(uid)) goneBytes += bytes;
    for (const [uid, { bytes }] of this.#pods) {
      if (goneBytes <= this.#limits.goneBytes) return;
      if (present.has(uid)) continue;
      this.#forget(uid);
      goneBytes -= bytes;
    }
  }

  /** Adds a reader that is called with every entry, synchronously; returns how to remove it. */
  subscribe(reader: TimelineReader): () => void {
    this.#readers.add(reader);
    return () => void this.#readers.delete(reader);
  }

  /** An event that was told a short while ago is still recorded, but no reader need shout it again. */
  #repeatLevel(ring: Ring | undefined, message: string, event: EventInfo): { level?: EntryLevel } {
    const told = ring?.lastOfEvent(clipped(message), event);
    return told !== undefined && this.#clock.now() - told.timeMs < repeatWindowMs ? { level: 'debug' } : {};
  }

  /** The pod's ring, which is then the one that was used last. */
  #ringOf(uid: string): Ring {
    const { entriesPerPod, bytesPerPod } = this.#limits;
    const ring = this.#pods.get(uid) ?? new Ring({ maxEntries: entriesPerPod, maxBytes: bytesPerPod });
    this.#pods.delete(uid);
    this.#pods.set(uid, ring);
    return ring;
  }

  #bound(newestUid: string, grownBytes: number): void {
    const { maxPods, maxBytes } = this.#limits;
    this.#podBytes += grownBytes;
    for (const oldest of this.#pods.keys()) {
      if ((this.#pods.size <= maxPods && this.#podBytes <= maxBytes) || oldest === newestUid) return;
      this.#forget(oldest);
    }
  }

  #forget(uid: string): void {
    this.#podBytes -= this.#pods.get(uid)?.bytes ?? 0;
    this.#pods.delete(uid);
  }
}

const longestText = 16_384;

/** What others say of a failure may be of any length. */
function clipped(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText)}…`;
}

/** The container that a field path such as `spec.containers{app}` names. */
function containerOf(fieldPath: string | undefined): { container?: string } {
  const [, container] = /\{(.+)\}$/.exec(fieldPath ?? '') ?? [];
  return container === undefined ? {} : { container };
}

/** The reference to a pod object that entries carry. */
export function podRef(pod: { metadata: PodRef }): PodRef {
  const { uid, name, namespace } = pod.metadata;
  return { uid, name, namespace };
}
