/** Work by key: a few keys at a time, each key once at a time, and what comes twice while it waits is done once. */

interface WaitingWrite {
  readonly done: Promise<void>;
  readonly settle: (work: Promise<void>) => void;
}

export class WriteQueue {
  readonly #work: (key: string) => Promise<void>;
  readonly #atOnce: number;
  readonly #waiting = new Map<string, WaitingWrite>();
  readonly #running = new Set<string>();
  /** Called when the next work ends. */
  readonly #ended: (() => void)[] = [];

  constructor(work: (key: string) => Promise<void>, atOnce: number) {
    this.#work = work;
    this.#atOnce = atOnce;
  }

  /** Resolves or rejects with the work that begins for the key from now on. */
  add(key: string): Promise<void> {
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) return waiting.done;
    let settle: (work: Promise<void>) => void = () => undefined;
    const done = new Promise<void>((resolve) => {
      settle = resolve;
    });
    // Whoever does not wait is told of failures by the work itself.
    done.catch(() => undefined);
    this.#waiting.set(key, { done, settle });
    this.#start();
    return done;
  }

  /** Resolves when nothing waits and nothing runs. */
  async idle(): Promise<void> {
    for (;;) {
      const [next] = this.#waiting.values();
      if (next !== undefined) await next.done.catch(() => undefined);
      else if (this.#running.size > 0) await this.#oneEnded();
      else return;
    }
  }

  #oneEnded(): Promise<void> {
    return new Promise((resolve) => this.#ended.push(resolve));
  }

  #start(): void {
    for (const [key, turn] of this.#waiting) {
      if (this.#running.size >= this.#atOnce) return;
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key);
      this.#running.add(key);
      const work = this.#work(key);
      turn.settle(work);
      const next = (): void => {
        this.#running.delete(key);
        for (const told of this.#ended.splice(0)) told();
        this.#start();
      };
      work.then(next, next);
    }
  }
}
