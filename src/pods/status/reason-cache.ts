/** Why containers could not be started last time, so that a status can say it until the next start succeeds. */

export interface StartFailure {
  readonly reason: string;
  readonly message: string;
}

/** The part of a sync step's result that the cache reads. */
export interface StartResult {
  readonly action: string;
  /** The container's name. */
  readonly target: string;
  readonly failure?: StartFailure | undefined;
}

const defaultCapacity = 1000;

export class ReasonCache {
  readonly #capacity: number;
  /** Least recently used first. */
  readonly #failures = new Map<string, StartFailure>();

  constructor(capacity = defaultCapacity) {
    this.#capacity = capacity;
  }

  get(podUid: string, container: string): StartFailure | undefined {
    const key = keyOf(podUid, container);
    const failure = this.#failures.get(key);
    if (failure !== undefined) this.#touch(key, failure);
    return failure;
  }

  /** Takes over what a sync of the pod's runtime did: failed starts are remembered, successful ones forgotten. */
  update(podUid: string, results: readonly StartResult[]): void {
    for (const { action, target, failure } of results) {
      if (action !== 'StartContainer') continue;
      if (failure === undefined) this.remove(podUid, target);
      else this.set(podUid, target, { reason: failure.reason, message: failure.message });
    }
  }

  set(podUid: string, container: string, failure: StartFailure): void {
    this.#touch(keyOf(podUid, container), failure);
    if (this.#failures.size <= this.#capacity) return;
    const oldest = this.#failures.keys().next();
    if (!oldest.done) this.#failures.delete(oldest.value);
  }

  remove(podUid: string, container: string): void {
    this.#failures.delete(keyOf(podUid, container));
  }

  #touch(key: string, failure: StartFailure): void {
    this.#failures.delete(key);
    this.#failures.set(key, failure);
  }
}

function keyOf(podUid: string, container: string): string {
  return `${podUid}_${container}`;
}
