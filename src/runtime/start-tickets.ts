/** Numbers that pods draw at their first start, so that those who came first also finish first. */

/** More pods than any node has; beyond it the oldest number is forgotten and drawn anew. */
const maxTickets = 10_000;

export class StartTickets {
  readonly #tickets = new Map<string, number>();
  #next = 0;

  /** The pod's number, drawn now if it has none. */
  of(podUid: string): number {
    const known = this.#tickets.get(podUid);
    if (known !== undefined) return known;
    const ticket = this.#next++;
    this.#tickets.set(podUid, ticket);
    if (this.#tickets.size > maxTickets) {
      for (const oldest of this.#tickets.keys()) {
        this.#tickets.delete(oldest);
        break;
      }
    }
    return ticket;
  }

  forget(podUid: string): void {
    this.#tickets.delete(podUid);
  }
}
