/** What the PLEG remembers of each pod, and which pod owns a container or sandbox. */
import type { ObservedPod, ObservedPodStatus } from '../../cri/index.js';

export interface RelistedPod {
  readonly uid: string;
  /** As of the last delivered events. */
  old: ObservedPod | undefined;
  /** As of the last relist. */
  current: ObservedPod | undefined;
  /** The full status if the last relist read it; undefined when it only listed. */
  read: ObservedPodStatus | undefined;
  /** The position of that reading in the order of all requests and relists. */
  readOrder: number;
  /** The containers and sandboxes known to belong to this pod. */
  ids: readonly string[];
}

export class PodRecords {
  readonly #records = new Map<string, RelistedPod>();
  readonly #podOfId = new Map<string, string>();

  get(uid: string): RelistedPod | undefined {
    return this.#records.get(uid);
  }

  values(): IterableIterator<RelistedPod> {
    return this.#records.values();
  }

  /** The pod that a container or sandbox was last seen in. */
  podOf(id: string): string | undefined {
    return this.#podOfId.get(id);
  }

  /** Notes a relist of all pods: pods that were not listed have no current state. */
  seeAll(pods: readonly ObservedPod[]): void {
    for (const record of this.#records.values()) {
      record.current = undefined;
      record.read = undefined;
    }
    for (const pod of pods) this.#recordOf(pod.uid).current = pod;
  }

  /** Records what a relist showed of one pod. */
  see(uid: string, pod: ObservedPod | undefined, read?: ObservedPodStatus, readOrder = 0): RelistedPod {
    const record = this.#recordOf(uid);
    record.current = pod;
    record.read = read;
    record.readOrder = readOrder;
    return record;
  }

  /** Indexes the containers and sandboxes that the last relist showed by their pod. */
  index(record: RelistedPod): void {
    const ids = [...idsOf(record.current)];
    for (const id of record.ids) if (!ids.includes(id)) this.#podOfId.delete(id);
    for (const id of ids) this.#podOfId.set(id, record.uid);
    record.ids = ids;
  }

  /** The change was emitted; a newer relist may already show more. */
  advance(record: RelistedPod, seen: ObservedPod): void {
    record.old = seen;
  }

  /** Forgets a pod that is gone. */
  forget(record: RelistedPod): void {
    for (const id of record.ids) this.#podOfId.delete(id);
    if (this.#records.get(record.uid) === record) this.#records.delete(record.uid);
  }

  #recordOf(uid: string): RelistedPod {
    const known = this.#records.get(uid);
    if (known !== undefined) return known;
    const created: RelistedPod = {
      uid,
      old: undefined,
      current: undefined,
      read: undefined,
      readOrder: 0,
      ids: [],
    };
    this.#records.set(uid, created);
    return created;
  }
}

function* idsOf(pod: ObservedPod | undefined): Iterable<string> {
  if (pod === undefined) return;
  for (const { id } of pod.containers) yield id;
  for (const { id } of pod.sandboxes) yield id;
}
