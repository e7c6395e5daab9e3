/** The sandboxes and containers that the agent created and no relist has shown yet, so that they can be read by id. */
import { BoundedMap } from '../../async/index.js';
import type { PodSandboxStatus } from '../../cri/index.js';
import type { PodParts } from '../pleg/index.js';

interface Creations {
  /** Each sandbox with its first status, if it was read. */
  readonly sandboxes: Map<string, SeenSandboxStatus | undefined>;
  /** The sandbox of each container. */
  readonly containers: Map<string, string>;
}

interface SeenSandboxStatus {
  readonly status: PodSandboxStatus;
  readonly atMs: number;
}

/** How long the first status of a sandbox stays valid; an event reports its end. */
const readingLifeMs = 2_000;
/** More pods than any node has. Beyond it, the next relist of all pods shows what was forgotten. */
const maxPods = 10_000;
const nothing: PodParts = { sandboxIds: [], containers: [] };

export class RecentlyCreated {
  readonly #byPod = new BoundedMap<string, Creations>({ maxEntries: maxPods });

  addSandbox(podUid: string, id: string): void {
    this.#of(podUid).sandboxes.set(id, undefined);
  }

  /** Keeps the first status of a new sandbox. */
  noteSandbox(podUid: string, id: string, reading: SeenSandboxStatus): void {
    const sandboxes = this.#byPod.get(podUid)?.sandboxes;
    if (sandboxes?.has(id) === true) sandboxes.set(id, reading);
  }

  /** Returns the first status of a new sandbox once; later callers must read it anew. */
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

  /** What was created for the pod and not shown by a relist. */
  unseen(podUid: string): PodParts {
    const creations = this.#byPod.get(podUid);
    if (creations === undefined) return nothing;
    return {
      sandboxIds: [...creations.sandboxes.keys()],
      containers: [...creations.containers].map(([id, sandboxId]) => ({ id, sandboxId })),
    };
  }

  /** A relist has shown these parts of the pod. */
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
