/** Numbers pods by their first start, so that pods that came first also start first. */
import { BoundedMap } from '../../async/index.js';

/** More pods than any node has. Beyond it, the oldest number is forgotten. */
const maxTickets = 10_000;

export class StartOrder {
  readonly #tickets = new BoundedMap<string, number>({ maxEntries: maxTickets });
  #next = 0;

  /** The number of the pod; a new one if it has none. */
  of(podUid: string): number {
    const known = this.#tickets.get(podUid);
    if (known !== undefined) return known;
    const ticket = this.#next++;
    this.#tickets.set(podUid, ticket);
    return ticket;
  }

  forget(podUid: string): void {
    this.#tickets.delete(podUid);
  }
}
