/** Chooses endpoints for the clients of one frontend: in turn, or always the same for one client. */
import { BoundedMap } from '../../async/index.js';
import { servicesLimits } from '../limits.js';
import type { Backend } from './frontends.js';

interface StickyClient {
  readonly backend: Backend;
  readonly usedMs: number;
}

export class Balancer {
  #backends: readonly Backend[] = [];
  #affinityMs = 0;
  #next = 0;
  readonly #clients = new BoundedMap<string, StickyClient>({ maxEntries: servicesLimits.affinityClients });

  get backends(): readonly Backend[] {
    return this.#backends;
  }

  set({
    backends,
    affinityMs,
  }: {
    readonly backends: readonly Backend[];
    readonly affinityMs: number;
  }): void {
    this.#backends = backends;
    this.#affinityMs = affinityMs;
    if (affinityMs === 0) this.#clients.clear();
  }

  has(backend: Backend): boolean {
    return this.#backends.some((one) => isSameBackend(one, backend));
  }

  /** The endpoints to try, the best first. */
  order(client: string, nowMs: number): readonly Backend[] {
    const count = this.#backends.length;
    if (count === 0) return [];
    const sticky = this.#stickyOf(client, nowMs);
    const start = sticky === undefined ? this.#next++ % count : this.#backends.indexOf(sticky);
    if (this.#next >= count) this.#next %= count;
    const tries = Math.min(count, servicesLimits.connectTries);
    const order: Backend[] = [];
    for (let step = 0; step < tries; step++) {
      const backend = this.#backends[(start + step) % count];
      if (backend !== undefined) order.push(backend);
    }
    return order;
  }

  /** The client reached the endpoint. */
  reached(client: string, backend: Backend, nowMs: number): void {
    if (this.#affinityMs > 0) this.#clients.set(client, { backend, usedMs: nowMs });
  }

  #stickyOf(client: string, nowMs: number): Backend | undefined {
    const known = this.#clients.get(client);
    if (known === undefined || nowMs - known.usedMs > this.#affinityMs) return undefined;
    return this.#backends.find((one) => isSameBackend(one, known.backend));
  }
}

export function isSameBackend(a: Backend, b: Backend): boolean {
  return a.address === b.address && a.port === b.port;
}
