/** What the PLEG remembers of each pod, and which pod a container or sandbox belongs to. */
import type { ObservedPod } from '../../cri/index.js';

export interface PodRecord {
  readonly uid: string;
  /** As of the last delivered events. */
  old: ObservedPod | undefined;
  /** As of the last look. */
  current: ObservedPod | undefined;
}

export interface PodRecordsOptions {
  /** Told of each container and sandbox that was not known before. */
  readonly onNewId: (id: string, uid: string) => void;
}

export class PodRecords {
  readonly #records = new Map<string, PodRecord>();
  readonly #podOfId = new Map<string, string>();
  readonly #onNewId: PodRecordsOptions['onNewId'];

  constructor({ onNewId }: PodRecordsOptions) {
    this.#onNewId = onNewId;
  }

  get(uid: string): PodRecord | undefined {
    return this.#records.get(uid);
  }

  values(): IterableIterator<PodRecord> {
    return this.#records.values();
  }

  /** The pod that a container or sandbox was last seen in. */
  podOf(id: string): string | undefined {
    return this.#podOfId.get(id);
  }

  /** Notes a look at everything: pods that were not listed have no current state. */
  seeAll(pods: readonly ObservedPod[]): void {
    for (const record of this.#records.values()) record.current = undefined;
    for (const pod of pods) this.#recordOf(pod.uid).current = pod;
  }

  /** Notes a look at one pod. */
  see(uid: string, pod: ObservedPod | undefined): PodRecord {
    const record = this.#recordOf(uid);
    record.current = pod;
    return record;
  }

  /** As `advance` for a pod in which nothing changed, without looking at what it has. */
  keep(record: PodRecord): void {
    record.old = record.current;
    if (record.current === undefined) this.#forget(record);
  }

  /** The current state becomes the old one; a pod that is gone is forgotten. */
  advance(record: PodRecord): void {
    const { uid, old, current } = record;
    record.old = current;
    if (current === undefined) this.#forget(record);
    this.#reindex(uid, old, current);
  }

  #forget(record: PodRecord): void {
    if (this.#records.get(record.uid) === record) this.#records.delete(record.uid);
  }

  #recordOf(uid: string): PodRecord {
    const known = this.#records.get(uid);
    if (known !== undefined) return known;
    const created: PodRecord = { uid, old: undefined, current: undefined };
    this.#records.set(uid, created);
    return created;
  }

  #reindex(uid: string, old: ObservedPod | undefined, current: ObservedPod | undefined): void {
    const fresh: string[] = [];
    for (const id of idsOf(current)) {
      if (this.#podOfId.get(id) === uid) continue;
      this.#podOfId.set(id, uid);
      fresh.push(id);
    }
    if (old !== undefined) {
      const kept = new Set(idsOf(current));
      for (const id of idsOf(old)) if (!kept.has(id)) this.#podOfId.delete(id);
    }
    for (const id of fresh) this.#onNewId(id, uid);
  }
}

function* idsOf(pod: ObservedPod | undefined): Iterable<string> {
  if (pod === undefined) return;
  for (const { id } of pod.containers) yield id;
  for (const { id } of pod.sandboxes) yield id;
}
