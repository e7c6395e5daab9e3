/** Has dead containers of a pod removed, from what was last observed of the pod. */
import type { ObservedPodStatus } from '../../cri/index.js';

export interface DeadContainersOptions {
  /** What was last seen of a pod, or why it could not be seen. */
  readonly peek: (uid: string) => { readonly status: ObservedPodStatus } | { readonly error: Error };
  readonly garbage: {
    /** Queues removals; `diedId` is the container whose death makes older ones removable. */
    removeDead(status: ObservedPodStatus, diedId: string | undefined, all?: boolean): void;
  };
}

export class DeadContainers {
  readonly #options: DeadContainersOptions;

  constructor(options: DeadContainersOptions) {
    this.#options = options;
  }

  /** Makes room after the death of a container: older dead runs of it go. */
  removeAfterDeath(uid: string, containerId: string): void {
    this.#remove(uid, containerId, false);
  }

  /** Removes what the pod has no use for any more. */
  removeUnneeded(uid: string): void {
    this.#remove(uid, undefined, false);
  }

  removeAll(uid: string): void {
    this.#remove(uid, undefined, true);
  }

  /** A pod that could not be observed is left to garbage collection. */
  #remove(uid: string, diedId: string | undefined, all: boolean): void {
    const { peek, garbage } = this.#options;
    const known = peek(uid);
    if ('status' in known) garbage.removeDead(known.status, diedId, all);
  }
}
