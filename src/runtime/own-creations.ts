/** What the agent has made for pods and no look has shown yet, so that a look can ask for it by its id. */

import type { PodParts } from './pleg/index.js';

interface Creations {
  readonly sandboxIds: Set<string>;
  /** The sandbox of each container. */
  readonly containers: Map<string, string>;
}

/** More pods than any node has; what is forgotten beyond it is shown by the next look at everything. */
const maxPods = 10_000;
const nothing: PodParts = { sandboxIds: [], containers: [] };

export class OwnCreations {
  readonly #byPod = new Map<string, Creations>();

  addSandbox(podUid: string, id: string): void {
    this.#of(podUid).sandboxIds.add(id);
  }

  addContainer(podUid: string, id: string, sandboxId: string): void {
    this.#of(podUid).containers.set(id, sandboxId);
  }

  /** What was made for the pod since it was last seen. */
  unseen(podUid: string): PodParts {
    const creations = this.#byPod.get(podUid);
    if (creations === undefined) return nothing;
    return {
      sandboxIds: [...creations.sandboxIds],
      containers: [...creations.containers].map(([id, sandboxId]) => ({ id, sandboxId })),
    };
  }

  /** A look that began when these were the unseen ones has shown the pod. */
  seen(podUid: string, { sandboxIds, containers }: PodParts): void {
    const creations = this.#byPod.get(podUid);
    if (creations === undefined) return;
    for (const id of sandboxIds) creations.sandboxIds.delete(id);
    for (const { id } of containers) creations.containers.delete(id);
    if (creations.sandboxIds.size === 0 && creations.containers.size === 0) this.#byPod.delete(podUid);
  }

  forget(podUid: string): void {
    this.#byPod.delete(podUid);
  }

  #of(podUid: string): Creations {
    const known = this.#byPod.get(podUid);
    if (known !== undefined) return known;
    const created: Creations = { sandboxIds: new Set(), containers: new Map() };
    this.#byPod.set(podUid, created);
    if (this.#byPod.size > maxPods) {
      for (const oldest of this.#byPod.keys()) {
        this.#byPod.delete(oldest);
        break;
      }
    }
    return created;
  }
}
