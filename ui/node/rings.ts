/** The entries of the timeline that the page keeps: those of each pod, and those about no pod. */
import type { TimelineEntry } from '../../src/timeline/entry.js';

/** As many as the node keeps itself. */
const mostOfPod = 256;
const mostOfNode = 1024;
const mostPods = 1024;

export class EntryRings {
  readonly #pods = new Map<string, TimelineEntry[]>();
  readonly #node: TimelineEntry[] = [];

  add(entry: TimelineEntry): void {
    const ring = entry.pod === undefined ? this.#node : this.#ringOf(entry.pod.uid);
    ring.push(entry);
    const most = entry.pod === undefined ? mostOfNode : mostOfPod;
    if (ring.length > most) ring.splice(0, ring.length - most);
  }

  ofPod(uid: string): readonly TimelineEntry[] {
    return this.#pods.get(uid) ?? [];
  }

  ofNode(): readonly TimelineEntry[] {
    return this.#node;
  }

  pods(): readonly string[] {
    return [...this.#pods.keys()];
  }

  #ringOf(uid: string): TimelineEntry[] {
    const known = this.#pods.get(uid);
    if (known !== undefined) return known;
    const ring: TimelineEntry[] = [];
    this.#pods.set(uid, ring);
    if (this.#pods.size > mostPods) {
      const [oldest] = this.#pods.keys();
      if (oldest !== undefined) this.#pods.delete(oldest);
    }
    return ring;
  }
}
