/** What the probes of one kind last said of each container, and the news of it for the sync loop. */
import { Channel } from '../async/index.js';
import type { ProbeResult } from './contracts.js';

/** Probes wait when so much news is not yet taken. */
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

  /** Resolves when the news is on its way; there is none, and nothing to wait for, when nothing changed. */
  set(update: ProbeUpdate, signal: AbortSignal): Promise<void> | undefined {
    if (this.#results.get(update.containerId) === update.result) return undefined;
    this.#results.set(update.containerId, update.result);
    return this.updates.send(update, signal);
  }

  remove(containerId: string): void {
    this.#results.delete(containerId);
  }
}
