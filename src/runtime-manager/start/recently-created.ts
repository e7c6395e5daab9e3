/** What the agent has made for pods and no look has shown yet, so that a look can ask for it by its id. */
import { BoundedMap } from '../../async/index.js';
import type { PodSandboxStatus } from '../../cri/index.js';
import type { PodParts } from '../pleg/index.js';

interface Creations {
  /** With what was read of each after it was made, and when. */
  readonly sandboxes: Map<string, SeenSandboxStatus | undefined>;
  /** The sandbox of each container. */
  readonly containers: Map<string, string>;
}

interface SeenSandboxStatus {
  readonly status: PodSandboxStatus;
  readonly atMs: number;
}

/** So long a reading of a new sandbox is as good as another one; its end is told by an event. */
const readingLifeMs = 2_000;
/** More pods than any node has; what is forgotten beyond it is shown by the next look at everything. */
const maxPods = 10_000;
const nothing: PodParts = { sandboxIds: [], containers: [] };

export class RecentlyCreated {
  readonly #byPod = new BoundedMap<string, Creations>({ maxEntries: maxPods });

  addSandbox(podUid: string, id: string): void {
    this.#of(podUid).sandboxes.set(id, undefined);
  }

  /** Notes what was read of a new sandbox at the given moment. */
  noteSandbox(podUid: string, id: string, reading: SeenSandboxStatus): void {
    const sandboxes = this.#byPod.get(podUid)?.sandboxes;
    if (sandboxes?.has(id) === true) sandboxes.set(id, reading);
  }

  /** What was just read of a new sandbox; only once, as the next who asks wants to know what has become of it. */
  takeReading(podUid: string, id: string, nowMs: number): PodSandboxStatus | undefined {
    const sandboxes = this.#byPod.get(podUid)?.sandboxes;
    const reading = sandboxes?.get(id);
    if (reading === undefined) return undefined;
    sandboxes?.set(id, undefined);
    return nowMs - reading.atMs <= readingLifeMs ? reading.status : undefined;
  }

  addContainer(podUid: string, id: string, sandboxId: string): void {
    this.#of(podUid).containers.set(id, sandboxId);
  }

  /** What was made for the pod since it was last seen. */
  unseen(podUid: string): PodParts {
    const creations = this.#byPod.get(podUid);
    if (creations === undefined) return nothing;
    return {
      sandboxIds: [...creations.sandboxes.keys()],
      containers: [...creations.containers].map(([id, sandboxId]) => ({ id, sandboxId })),
    };
  }

  /** A look that began when these were the unseen ones has shown the pod. */
  seen(podUid: string, { sandboxIds, containers }: PodParts): void {
    const creations = this.#byPod.get(podUid);
    if (creations === undefined) return;
    for (const id of sandboxIds) creations.sandboxes.delete(id);
    for (const { id } of containers) creations.containers.delete(id);
    if (creations.sandboxes.size === 0 && creations.containers.size === 0) this.#byPod.delete(podUid);
  }

  forget(podUid: string): void {
    this.#byPod.delete(podUid);
  }

  #of(podUid: string): Creations {
    const known = this.#byPod.get(podUid);
    if (known !== undefined) return known;
    const created: Creations = { sandboxes: new Map(), containers: new Map() };
    this.#byPod.set(podUid, created);
    return created;
  }
}
