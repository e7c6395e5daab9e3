/** Makes the claims of a StatefulSet's pods, and keeps who takes them along. */
import { errorText } from '../../async/index.js';
import { type PersistentVolumeClaim, type Pod, type StatefulSet, semanticEqual } from '../../kube/index.js';
import { isAlreadyExists, resources } from '../../kube-client/index.js';
import type { ControllerContext } from '../driver/context.js';
import { refOf } from '../driver/kind-cache.js';
import { claimOwners, podName, statefulClaims } from './stateful-pod.js';

type TellSet = (type: 'Normal' | 'Warning', reason: string, message: string) => void;

export class ClaimWriter {
  readonly #context: Pick<ControllerContext, 'api' | 'caches'>;

  constructor(context: Pick<ControllerContext, 'api' | 'caches'>) {
    this.#context = context;
    context.caches.of(resources.persistentVolumeClaims);
  }

  /** Makes the claims that the pod lacks. */
  async ensure(set: StatefulSet, ordinal: number, tell: TellSet, signal: AbortSignal): Promise<void> {
    const name = podName(set, ordinal);
    for (const wanted of statefulClaims(set, ordinal)) {
      const known = this.#known(wanted);
      if (known !== undefined) {
        if (known.metadata.deletionTimestamp !== undefined)
          throw new Error(`claim ${wanted.metadata.name} of pod ${name} is being deleted`);
        continue;
      }
      const ownerReferences = claimOwners(set, wanted, undefined);
      const claim = {
        ...wanted,
        metadata: { ...wanted.metadata, ...(ownerReferences.length === 0 ? {} : { ownerReferences }) },
      };
      const what = `create Claim ${wanted.metadata.name} Pod ${name} in StatefulSet ${set.metadata.name}`;
      try {
        await this.#context.api.create(resources.persistentVolumeClaims, claim, { signal });
        tell('Normal', 'SuccessfulCreate', `${what} success`);
      } catch (error) {
        if (isAlreadyExists(error)) continue;
        tell('Warning', 'FailedCreate', `${what} failed error: ${errorText(error)}`);
        throw error;
      }
    }
  }

  /** Writes who takes the claims of the pod along. */
  async own(
    set: StatefulSet,
    ordinal: number,
    condemned: Pod | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    for (const wanted of statefulClaims(set, ordinal)) {
      const claim = this.#known(wanted);
      if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) continue;
      const ownerReferences = claimOwners(set, claim, condemned);
      if (semanticEqual(ownerReferences, claim.metadata.ownerReferences)) continue;
      const { resourceVersion } = claim.metadata;
      const body = { metadata: { resourceVersion, ownerReferences } };
      await this.#context.api.patch(
        resources.persistentVolumeClaims,
        refOf(claim),
        { type: 'merge', body },
        { signal },
      );
    }
  }

  #known(claim: PersistentVolumeClaim): PersistentVolumeClaim | undefined {
    return this.#context.caches.of(resources.persistentVolumeClaims).get(refOf(claim));
  }
}
