/** Why containers could not be started last time, for the status until the next start succeeds. */
import { BoundedMap, textBytes } from '../../async/index.js';

export interface ContainerStartFailure {
  readonly reason: string;
  readonly message: string;
}

/** The part of a sync step's result that the cache reads. */
export interface StartResult {
  readonly action: string;
  /** The container's name. */
  readonly target: string;
  readonly failure?: ContainerStartFailure | undefined;
}

const defaultCapacity = 1000;
const maxBytes = 256 * 1024;

interface CachedReason {
  readonly podUid: string;
  readonly failure: ContainerStartFailure;
}

export class ReasonCache {
  /** By pod and container. */
  readonly #failures: BoundedMap<string, CachedReason>;

  constructor(capacity = defaultCapacity) {
    this.#failures = new BoundedMap({
      maxEntries: capacity,
      maxBytes,
      bytesOf: (key, { failure }) => textBytes(key, failure.reason, failure.message),
    });
  }

  get size(): number {
    return this.#failures.size;
  }

  get(podUid: string, container: string): ContainerStartFailure | undefined {
    return this.#failures.use(keyOf(podUid, container))?.failure;
  }

  /** Takes the results of a pod sync: remembers failed starts, forgets successful ones. */
  update(podUid: string, results: readonly StartResult[]): void {
    for (const { action, target, failure } of results) {
      if (action !== 'StartContainer') continue;
      if (failure === undefined) this.remove(podUid, target);
      else this.set(podUid, target, { reason: failure.reason, message: failure.message });
    }
  }

  set(podUid: string, container: string, failure: ContainerStartFailure): void {
    this.#failures.set(keyOf(podUid, container), { podUid, failure });
  }

  remove(podUid: string, container: string): void {
    this.#failures.delete(keyOf(podUid, container));
  }

  /** Forgets all other pods. */
  keepOnly(podUids: ReadonlySet<string>): void {
    for (const [key, { podUid }] of this.#failures) if (!podUids.has(podUid)) this.#failures.delete(key);
  }
}

function keyOf(podUid: string, container: string): string {
  return `${podUid}_${container}`;
}
