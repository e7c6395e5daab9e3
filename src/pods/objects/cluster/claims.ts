/** The volumes behind pods' claims, as bound in the API. */
import { errorText, isCancelled } from '../../../async/index.js';
import {
  bindingProblem,
  type ClaimReference,
  claimError,
  claimProblem,
  claimReference,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type PersistentVolumeClaimStatus,
  type Pod,
  type Volume,
  volumeGroup,
} from '../../../kube/index.js';
import { type KubeApi, mergeSchemaOf, resources, strategicMergeDiff } from '../../../kube-client/index.js';

export interface ApiClaim {
  readonly persistentVolume: PersistentVolume;
  readonly readOnly: boolean;
  readonly extraGroup: number | undefined;
  readonly claim: PersistentVolumeClaim;
}

export class ApiClaims {
  readonly #api: KubeApi;
  readonly statuses: ApiClaimStatuses;

  constructor({ api }: { readonly api: KubeApi }) {
    this.#api = api;
    this.statuses = new ApiClaimStatuses(api);
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
    if (problem !== undefined) throw problem;
    const volumeName = claim.spec.volumeName ?? '';
    const persistentVolume = await fetched(reference, `PV ${volumeName}`, () =>
      this.#api.get(resources.persistentVolumes, { name: volumeName }, { signal }),
    );
    const mismatch = bindingProblem(claim, persistentVolume);
    if (mismatch !== undefined) throw claimError(reference, mismatch);
    return { persistentVolume, readOnly, extraGroup: volumeGroup(persistentVolume), claim };
  }
}

interface WriteClaimOptions {
  readonly ifUnchanged: boolean;
  readonly signal: AbortSignal;
}

/** Reads and writes what claims say of an expansion. */
class ApiClaimStatuses {
  readonly #api: KubeApi;

  constructor(api: KubeApi) {
    this.#api = api;
  }

  async read(
    { namespace, name, uid }: { readonly namespace: string; readonly name: string; readonly uid: string },
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim> {
    const claim = await this.#api.get(resources.persistentVolumeClaims, { namespace, name }, { signal });
    if (claim.metadata.uid === uid) return claim;
    throw new Error(`claim ${namespace}/${name} is another one now: its UID is ${claim.metadata.uid}`);
  }

  /** Sends only the difference: others write other parts of the status. */
  async write(
    claim: PersistentVolumeClaim,
    status: PersistentVolumeClaimStatus,
    { ifUnchanged, signal }: WriteClaimOptions,
  ): Promise<PersistentVolumeClaim> {
    const resource = resources.persistentVolumeClaims;
    const { namespace = '', name = '', uid, resourceVersion } = claim.metadata;
    const difference = strategicMergeDiff(mergeSchemaOf(resource), { status: claim.status }, { status });
    if (Object.keys(difference).length === 0) return claim;
    const metadata = { uid, ...(ifUnchanged ? { resourceVersion } : {}) };
    const body = { metadata, ...difference };
    const ref = { namespace, name };
    return this.#api.patch(resource, ref, { type: 'strategic', body }, { subresource: 'status', signal });
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
