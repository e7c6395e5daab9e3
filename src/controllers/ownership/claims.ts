/** Decides which objects belong to a controller: which it has, takes, and gives up. */
import type { KubeObject, LabelSelector } from '../../kube/index.js';
import { controllerOf, selects } from './owner-references.js';

export interface Claims<T> {
  /** Those it has and keeps. */
  readonly owned: readonly T[];
  /** Those nobody controls and that its selector matches. */
  readonly adopt: readonly T[];
  /** Those it controls though its selector does not match any more. */
  readonly release: readonly T[];
}

export interface ClaimInput<T> {
  readonly owner: KubeObject;
  readonly selector: LabelSelector | undefined;
  /** Candidates in the owner's namespace. */
  readonly objects: readonly T[];
  /** A further condition on objects to adopt. */
  readonly mayAdopt?: (object: T) => boolean;
}

/** An owner that is being deleted neither adopts nor releases. */
export function decideClaims<T extends KubeObject>(input: ClaimInput<T>): Claims<T> {
  const { owner, selector, objects, mayAdopt = () => true } = input;
  const isLeaving = owner.metadata.deletionTimestamp !== undefined;
  const owned: T[] = [];
  const adopt: T[] = [];
  const release: T[] = [];
  for (const object of objects) {
    const controller = controllerOf(object);
    const isSelected = selects(selector, object);
    if (controller !== undefined) {
      if (controller.uid !== owner.metadata.uid) continue;
      if (isSelected) owned.push(object);
      else if (!isLeaving) release.push(object);
    } else if (
      isSelected &&
      !isLeaving &&
      object.metadata.deletionTimestamp === undefined &&
      mayAdopt(object)
    )
      adopt.push(object);
  }
  return { owned, adopt, release };
}
