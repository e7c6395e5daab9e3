/** Remembers near which NUMA nodes each container was placed, until its last instance is gone. */
import type { TopologyHint } from './hint-provider.js';

interface PlacedContainer {
  readonly podUid: string;
  readonly name: string;
}

export class StoredHints {
  readonly #hints = new Map<string, Map<string, TopologyHint>>();
  readonly #instances = new Map<string, PlacedContainer>();

  set(podUid: string, name: string, hint: TopologyHint): void {
    const hints = this.#hints.get(podUid) ?? new Map<string, TopologyHint>();
    this.#hints.set(podUid, hints);
    hints.set(name, hint);
  }

  get(podUid: string, name: string): TopologyHint | undefined {
    return this.#hints.get(podUid)?.get(name);
  }

  containerCreated(podUid: string, name: string, containerId: string): void {
    this.#instances.set(containerId, { podUid, name });
  }

  /** The hint stays while another instance of the container is known. */
  containerRemoved(containerId: string): void {
    const placed = this.#instances.get(containerId);
    if (placed === undefined) return;
    this.#instances.delete(containerId);
    const { podUid, name } = placed;
    for (const other of this.#instances.values()) {
      if (other.podUid === podUid && other.name === name) return;
    }
    const hints = this.#hints.get(podUid);
    hints?.delete(name);
    if (hints?.size === 0) this.#hints.delete(podUid);
  }

  /** Forgets all other pods. */
  keepOnly(isKept: (podUid: string) => boolean): void {
    for (const podUid of this.#hints.keys()) if (!isKept(podUid)) this.#hints.delete(podUid);
    for (const [id, { podUid }] of this.#instances) if (!isKept(podUid)) this.#instances.delete(id);
  }
}
