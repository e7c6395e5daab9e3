/** Timers ordered by due time. A simulation of thousands of pods has tens of thousands and asks for the next constantly. */

export interface PendingTimer {
  readonly dueMs: number;
  /** Among timers due at the same time, the one set first fires first. */
  readonly order: number;
  /** Emptied when it is cancelled: what it would have called must not be held by a timer that is dead. */
  fire: () => void;
}

/** A binary heap. A cancelled timer stays until it reaches the top or cancelled timers are the majority. */
export class TimerHeap {
  #heap: PendingTimer[] = [];
  readonly #waiting = new Set<PendingTimer>();

  get size(): number {
    return this.#waiting.size;
  }

  add(timer: PendingTimer): void {
    this.#waiting.add(timer);
    this.#heap.push(timer);
    this.#rise(this.#heap.length - 1);
  }

  delete(timer: PendingTimer): void {
    if (!this.#waiting.delete(timer)) return;
    if (this.#heap.length > 64 && this.#heap.length > 2 * this.#waiting.size) this.#dropDead();
  }

  earliest(): PendingTimer | undefined {
    for (;;) {
      const [top] = this.#heap;
      if (top === undefined || this.#waiting.has(top)) return top;
      this.#removeTop();
    }
  }

  #dropDead(): void {
    // A sorted array is a heap.
    this.#heap = [...this.#waiting].sort((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  #removeTop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink();
  }

  #rise(start: number): void {
    let at = start;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#swapUnlessOrdered(parent, at)) return;
      at = parent;
    }
  }

  #sink(): void {
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const [leftTimer, rightTimer] = [this.#heap[left], this.#heap[left + 1]];
      if (leftTimer === undefined) return;
      const child = rightTimer !== undefined && isBefore(rightTimer, leftTimer) ? left + 1 : left;
      if (!this.#swapUnlessOrdered(at, child)) return;
      at = child;
    }
  }

  #swapUnlessOrdered(parent: number, child: number): boolean {
    const [above, below] = [this.#heap[parent], this.#heap[child]];
    if (above === undefined || below === undefined || !isBefore(below, above)) return false;
    this.#heap[parent] = below;
    this.#heap[child] = above;
    return true;
  }
}

function isBefore(a: PendingTimer, b: PendingTimer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}
