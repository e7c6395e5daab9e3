/** Numbers that pods draw at their first start, so that those who came first also finish first. */
import { BoundedMap } from '../../async/index.js';

/** More pods than any node has; beyond it the oldest number is forgotten and drawn anew. */
const maxTickets = 10_000;

export class StartOrder {
  readonly #tickets = new BoundedMap<string, number>({ maxEntries: maxTickets });
  #next = 0;

  /** The pod's number, drawn now if it has none. */
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
