/** The volumes behind pods' claims, as bound in the API. */
import { errorText, isCancelled } from '../../../async/index.js';
import {
  bindingProblem,
  type ClaimReference,
  claimError,
  claimProblem,
  claimReference,
  type PersistentVolume,
  type Pod,
  type Volume,
  volumeGroup,
} from '../../../kube/index.js';
import { type KubeApi, resources } from '../../../kube-client/index.js';

export interface ApiClaim {
  readonly persistentVolume: PersistentVolume;
  readonly readOnly: boolean;
  readonly extraGroup: number | undefined;
  /** The state of a resize that waits for this node. */
  readonly nodeResize?: string;
}

export class ApiClaims {
  readonly #api: KubeApi;

  constructor({ api }: { readonly api: KubeApi }) {
    this.#api = api;
  }

  /** Rejects with the reason why the pod cannot use its volume's claim. */
  async resolve(pod: Pod, volume: Volume, signal: AbortSignal): Promise<ApiClaim> {
    const reference = claimReference(pod, volume);
    if (reference === undefined) throw new Error(`volume ${JSON.stringify(volume.name)} names no claim`);
    const { namespace, name, readOnly } = reference;
    const claim = await fetched(reference, 'PVC', () =>
      this.#api.get(resources.persistentVolumeClaims, { namespace, name }, { signal }),
    );
    const problem = claimProblem(claim, pod, reference);
    if (problem !== undefined) throw claimError(reference, problem);
    const volumeName = claim.spec.volumeName ?? '';
    const persistentVolume = await fetched(reference, `PV ${volumeName}`, () =>
      this.#api.get(resources.persistentVolumes, { name: volumeName }, { signal }),
    );
    const mismatch = bindingProblem(claim, persistentVolume);
    if (mismatch !== undefined) throw claimError(reference, mismatch);
    const resize = claim.status?.allocatedResourceStatuses?.storage;
    return {
      persistentVolume,
      readOnly,
      extraGroup: volumeGroup(persistentVolume),
      ...(resize === 'NodeResizePending' || resize === 'NodeResizeInProgress' ? { nodeResize: resize } : {}),
    };
  }
}

async function fetched<T>(reference: ClaimReference, what: string, fetch: () => Promise<T>): Promise<T> {
  try {
    return await fetch();
  } catch (error) {
    if (isCancelled(error)) throw error;
    throw claimError(reference, `failed to fetch ${what} from API server: ${errorText(error)}`, error);
  }
}
