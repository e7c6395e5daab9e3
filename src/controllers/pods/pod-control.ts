/** Creates and deletes pods for a controller, tells it in events, and remembers what the copy must show. */
import { errorText } from '../../async/index.js';
import type { KubeObject, Pod, PodManifest } from '../../kube/index.js';
import { ApiError, isNotFound, type Resource, resources } from '../../kube-client/index.js';
import type { ControllerContext } from '../driver/context.js';
import { Expectations } from '../driver/expectations.js';
import { refOf } from '../driver/kind-cache.js';

export interface PodOwner {
  readonly component: string;
  readonly resource: Resource;
  readonly object: KubeObject;
  /** Of the owner, for the expectations. */
  readonly key: string;
}

export class PodControl {
  readonly expectations: Expectations;
  readonly #context: Pick<ControllerContext, 'api' | 'clock' | 'events'>;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.expectations = new Expectations(context.caches.of(resources.pods));
  }

  /** Undefined when the namespace is on its way out: nothing is created there any more. */
  async create(owner: PodOwner, pod: PodManifest, signal: AbortSignal): Promise<Pod | undefined> {
    const { api, clock } = this.#context;
    try {
      const created = await api.create(resources.pods, pod, { signal });
      this.expectations.created(owner.key, created.metadata.uid, clock.now());
      this.#tell(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${created.metadata.name}`);
      return created;
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      if (!signal.aborted)
        this.#tell(owner, 'Warning', 'FailedCreate', `Error creating: ${errorText(error)}`);
      throw error;
    }
  }

  async delete(owner: PodOwner, pod: Pod, signal: AbortSignal): Promise<void> {
    const { api, clock } = this.#context;
    try {
      await api.delete(resources.pods, refOf(pod), { preconditions: { uid: pod.metadata.uid }, signal });
    } catch (error) {
      if (isNotFound(error)) return;
      if (!signal.aborted)
        this.#tell(owner, 'Warning', 'FailedDelete', `Error deleting: ${errorText(error)}`);
      throw error;
    }
    this.expectations.deleted(owner.key, pod.metadata.uid, clock.now());
    this.#tell(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`);
  }

  #tell(owner: PodOwner, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { component, resource, object } = owner;
    this.#context.events.record({ component, resource, object, type, reason, message });
  }
}

export function isNamespaceTerminating(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    error.code === 403 &&
    (error.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false)
  );
}

/**
 * Does the work for each item, a few at first and twice as many after each batch that went well. Returns how many
 * succeeded and the first error, after which nothing more is started.
 */
export async function inGrowingBatches<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<{ readonly done: number; readonly error?: unknown }> {
  let done = 0;
  for (let size = 1, from = 0; from < items.length; from += size, size = Math.min(size * 2, 64)) {
    const results = await Promise.allSettled(items.slice(from, from + size).map(work));
    done += results.filter(({ status }) => status === 'fulfilled').length;
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) return { done, error: failed.reason };
  }
  return { done };
}
