/** The latest result of each container's probe of one kind, and its changes for the sync loop. */
import { Channel } from '../async/index.js';
import type { ProbeResult } from '../kube/index.js';

/** Capacity for changes; probes wait while it is full. */
const waitingUpdates = 20;

export interface ProbeUpdate {
  readonly podUid: string;
  readonly containerId: string;
  readonly result: ProbeResult;
}

export class ResultStore {
  readonly updates = new Channel<ProbeUpdate>(waitingUpdates);
  readonly #results = new Map<string, ProbeResult>();

  get(containerId: string): ProbeResult | undefined {
    return this.#results.get(containerId);
  }

  get size(): number {
    return this.#results.size;
  }

  /** Resolves once the change is queued. Returns undefined if nothing changed. */
  set(update: ProbeUpdate, signal: AbortSignal): Promise<void> | undefined {
    if (this.#results.get(update.containerId) === update.result) return undefined;
    this.#results.set(update.containerId, update.result);
    return this.updates.send(update, signal);
  }

  remove(containerId: string): void {
    this.#results.delete(containerId);
  }
}
