/** Lets a creation wait a moment for what controllers make meanwhile, such as the account of a new namespace. */
import type { Clock } from '../../async/index.js';
import type { KubeObject } from '../../kube/types/index.js';
import { qualifiedPlural, type Resource } from '../../kube-client/resources.js';
import { kubeApiLimits } from '../limits.js';
import type { Storage } from '../objects/storage.js';
import type { ServedKind, ServerFacts } from './served-kind.js';

export class CreateReadiness {
  readonly #clock: Clock;
  readonly #storage: Storage;
  readonly #kinds: ReadonlyMap<string, ServedKind>;
  #waiting = 0;

  constructor(clock: Clock, storage: Storage, kinds: readonly ServedKind[]) {
    this.#clock = clock;
    this.#storage = storage;
    this.#kinds = new Map(kinds.map((kind) => [qualifiedPlural(kind.resource), kind]));
  }

  /** Resolves when everything is there or the time is over; the rules of the kind then decide. */
  async wait(resource: Resource, object: KubeObject, namespace: string | undefined): Promise<void> {
    const isReady = (): boolean => this.#isReady(resource, object, namespace);
    if (isReady() || this.#waiting >= kubeApiLimits.waitingCreations) return;
    this.#waiting++;
    await new Promise<void>((resolve) => {
      const finish = (): void => {
        forget();
        timer.cancel();
        resolve();
      };
      const timer = this.#clock.setTimer(kubeApiLimits.creationWaitMs, finish);
      const forget = this.#storage.listen(() => {
        if (isReady()) finish();
      });
    });
    this.#waiting--;
  }

  #isReady(resource: Resource, object: KubeObject, namespace: string | undefined): boolean {
    const kind = this.#kinds.get(qualifiedPlural(resource));
    if (kind?.isReadyToCreate === undefined) return true;
    // Only objects of this resource are stored under its name.
    const find: ServerFacts['find'] = <T extends KubeObject>(
      other: Resource<T>,
      ref: { namespace?: string; name: string },
    ) =>
      this.#storage.get(other, ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`) as
        | T
        | undefined;
    try {
      return kind.isReadyToCreate(object, namespace, { find });
    } catch {
      // A malformed object is refused by the rules of its kind.
      return true;
    }
  }
}
