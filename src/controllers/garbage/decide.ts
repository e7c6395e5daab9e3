/** Decides what becomes of an object whose owners go or are gone, and of an owner that waits for its dependents. */
import type { KubeObject, OwnerReference } from '../../kube/index.js';

export const foregroundFinalizer = 'foregroundDeletion';
export const orphanFinalizer = 'orphan';

/** What is known of the owner that a reference names. */
export type OwnerState =
  | 'present'
  /** It is being deleted and waits for its dependents to go first. */
  | 'waiting'
  | 'absent'
  /** Its kind is not served here, so nobody can tell. */
  | 'unknown';

export type DependentStep =
  | { readonly kind: 'keep' }
  /** It has other owners: only the references to those that go are removed. */
  | { readonly kind: 'drop-references'; readonly uids: readonly string[] }
  | { readonly kind: 'delete'; readonly propagation: 'Background' | 'Foreground' | 'Orphan' };

export interface OwnedState {
  readonly reference: OwnerReference;
  readonly state: OwnerState;
}

/** `hasDependents`: objects that name this one as an owner that waits for them. */
export function decideDependent(
  { metadata }: KubeObject,
  owners: readonly OwnedState[],
  hasDependents: boolean,
): DependentStep {
  if (owners.length === 0) return { kind: 'keep' };
  const gone = owners.filter(({ state }) => state === 'absent');
  const waiting = owners.filter(({ state }) => state === 'waiting');
  if (gone.length + waiting.length === 0) return { kind: 'keep' };
  if (gone.length + waiting.length < owners.length) {
    return { kind: 'drop-references', uids: [...gone, ...waiting].map(({ reference }) => reference.uid) };
  }
  const finalizers = metadata.finalizers ?? [];
  if (metadata.deletionTimestamp !== undefined) return { kind: 'keep' };
  if (finalizers.includes(orphanFinalizer)) return { kind: 'delete', propagation: 'Orphan' };
  const isForeground = finalizers.includes(foregroundFinalizer) || (waiting.length > 0 && hasDependents);
  return { kind: 'delete', propagation: isForeground ? 'Foreground' : 'Background' };
}

export type OwnerStep =
  | { readonly kind: 'none' }
  /** Its dependents lose their references to it, then it loses the finalizer. */
  | { readonly kind: 'orphan' }
  /** Its dependents are deleted; those that block it are still there. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'release'; readonly finalizer: string };

/** What an owner that is being deleted needs; `dependents` are all objects that name it. */
export function decideOwner({ metadata }: KubeObject, dependents: readonly KubeObject[]): OwnerStep {
  if (metadata.deletionTimestamp === undefined) return { kind: 'none' };
  const finalizers = metadata.finalizers ?? [];
  if (finalizers.includes(orphanFinalizer))
    return dependents.length > 0 ? { kind: 'orphan' } : { kind: 'release', finalizer: orphanFinalizer };
  if (!finalizers.includes(foregroundFinalizer)) return { kind: 'none' };
  const blocks = ({ metadata: { ownerReferences = [] } }: KubeObject): boolean =>
    ownerReferences.some(
      ({ uid, blockOwnerDeletion }) => uid === metadata.uid && blockOwnerDeletion === true,
    );
  return dependents.some(blocks) ? { kind: 'wait' } : { kind: 'release', finalizer: foregroundFinalizer };
}

/** Whether the owner is being deleted and its dependents go before it. */
export function isWaitingForDependents({ metadata }: KubeObject): boolean {
  return (
    metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(foregroundFinalizer)
  );
}
