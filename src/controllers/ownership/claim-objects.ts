/** Does what the claims of a controller say: sets and removes owner references. */
import type { KubeObject, LabelSelector } from '../../kube/index.js';
import { isInvalid, isNotFound, type KubeApi, type Resource } from '../../kube-client/index.js';
import { refOf } from '../driver/kind-cache.js';
import { decideClaims } from './claims.js';
import { controllerReference } from './owner-references.js';

export interface ClaimRequest<Owner extends KubeObject, T extends KubeObject> {
  readonly api: KubeApi;
  readonly ownerResource: Resource<Owner>;
  readonly owner: Owner;
  readonly selector: LabelSelector | undefined;
  readonly resource: Resource<T>;
  readonly objects: readonly T[];
  readonly mayAdopt?: (object: T) => boolean;
  readonly signal: AbortSignal;
}

/** The objects that belong to the owner from now on. */
export async function claimObjects<Owner extends KubeObject, T extends KubeObject>(
  request: ClaimRequest<Owner, T>,
): Promise<readonly T[]> {
  const { api, resource, owner, ownerResource, signal } = request;
  const { owned, adopt, release } = decideClaims(request);
  const taken: T[] = [...owned];
  for (const object of release) await releaseObject(request, object);
  if (adopt.length === 0) return taken;
  // The copy may be old: an owner that is gone, or is another one, must not adopt.
  const current = await api.get(ownerResource, refOf(owner), { signal });
  if (current.metadata.uid !== owner.metadata.uid || current.metadata.deletionTimestamp !== undefined)
    return taken;
  for (const object of adopt) {
    const { uid, ownerReferences = [] } = object.metadata;
    const references = [
      ...ownerReferences.filter((reference) => reference.uid !== owner.metadata.uid),
      controllerReference(ownerResource, owner),
    ];
    const body = { metadata: { uid, ownerReferences: references } };
    const adopted = await unlessGone(api.patch(resource, refOf(object), { type: 'merge', body }, { signal }));
    if (adopted !== undefined) taken.push(adopted);
  }
  return taken;
}

async function releaseObject<Owner extends KubeObject, T extends KubeObject>(
  { api, resource, owner, signal }: ClaimRequest<Owner, T>,
  object: T,
): Promise<void> {
  const { uid, ownerReferences = [] } = object.metadata;
  const kept = ownerReferences.filter((reference) => reference.uid !== owner.metadata.uid);
  const body = { metadata: { uid, ownerReferences: kept } };
  await unlessGone(api.patch(resource, refOf(object), { type: 'merge', body }, { signal }));
}

/** Undefined when the object is gone, or another one has its name. */
async function unlessGone<T>(write: Promise<T>): Promise<T | undefined> {
  try {
    return await write;
  } catch (error) {
    if (isNotFound(error) || isInvalid(error)) return undefined;
    throw error;
  }
}
