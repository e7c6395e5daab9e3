/** Timers by when they are due: a simulation of thousands of pods has tens of thousands, and asks for the next all the time. */

export interface PendingTimer {
  readonly dueMs: number;
  /** Of those due at the same time the one that was set first comes first. */
  readonly order: number;
  readonly fire: () => void;
}

/** A binary heap. What is cancelled stays in it, dead, until it comes to the top or the dead are the majority. */
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
    // What is sorted is a heap.
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
