/** Answers a write only when it is kept, and takes it back when it cannot be. */
import { errorText } from '../../async/index.js';
import type { KubeObject } from '../../kube/types/index.js';
import { ApiError } from '../../kube-client/api-error.js';
import { qualifiedPlural, type Resource } from '../../kube-client/resources.js';
import type { Storage, StorageChange } from './storage.js';

/** Resolves when a change would survive a crash; rejects when it cannot be kept. */
export type KeepChange = (change: Pick<StorageChange, 'revision'>) => Promise<void>;

export class DurableWrites {
  readonly #storage: Storage;
  readonly #keep: KeepChange;
  readonly #resources: ReadonlyMap<string, Resource>;
  /** What was stored before an object that could not be kept. */
  readonly #beforeFailed = new WeakMap<KubeObject, { readonly object: KubeObject | undefined }>();

  constructor(storage: Storage, resources: readonly Resource[], keep: KeepChange) {
    this.#storage = storage;
    this.#keep = keep;
    this.#resources = new Map(resources.map((resource) => [qualifiedPlural(resource), resource]));
  }

  /** Does immediate work on the storage. Throws `ApiError` when one of its changes cannot be kept: then none of those is. */
  async during<T>(work: () => T): Promise<T> {
    const changes: StorageChange[] = [];
    const forget = this.#storage.listen((change) => changes.push(change));
    let result: T;
    try {
      result = work();
    } finally {
      forget();
    }
    await this.#keepAll(changes);
    return result;
  }

  /** An object that a write did not have to change may be on its way to the disk, by another client. */
  async keptAsRead({ metadata }: KubeObject): Promise<void> {
    const revision = Number(metadata.resourceVersion ?? 0);
    await this.#keep({ revision }).catch((error: unknown) => {
      throw notKept(error);
    });
  }

  async #keepAll(changes: readonly StorageChange[]): Promise<void> {
    const outcomes = await Promise.allSettled(changes.map((change) => this.#keep(change)));
    let first: unknown;
    for (const [index, change] of [...changes.entries()].reverse()) {
      const outcome = outcomes[index];
      if (outcome?.status !== 'rejected') continue;
      first = outcome.reason;
      this.#takeBack(change);
    }
    if (first !== undefined) throw notKept(first);
  }

  /** Unless somebody has written the object since, whose own write then decides. */
  #takeBack({ resource: name, before, replaced, after }: StorageChange): void {
    const resource = this.#resources.get(name);
    const key = keyOf(after ?? before);
    const kept = this.#lastKept(replaced);
    if (after !== undefined) this.#beforeFailed.set(after, { object: kept });
    if (resource === undefined || this.#storage.get(resource, key) !== after) return;
    if (kept !== undefined) this.#storage.put(resource, key, (version) => versioned(kept, version));
    else if (after !== undefined) this.#storage.remove(resource, key, after);
  }

  /** Writes of one object may fail one after the other. */
  #lastKept(object: KubeObject | undefined): KubeObject | undefined {
    let kept = object;
    for (;;) {
      const failed = kept === undefined ? undefined : this.#beforeFailed.get(kept);
      if (failed === undefined) return kept;
      kept = failed.object;
    }
  }
}

function versioned(object: KubeObject, resourceVersion: string): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

function keyOf(object: KubeObject | undefined): string {
  const { namespace, name = '' } = object?.metadata ?? {};
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function notKept(error: unknown): ApiError {
  return new ApiError({
    code: 500,
    reason: 'InternalError',
    message: `the disk of the node does not take the change, so it was not made: ${errorText(error)}`,
  });
}
