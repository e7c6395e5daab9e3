/** Owner references: who controls an object, and the reference that a controller gives to what it creates. */
import type { KubeObject, LabelSelector, OwnerReference } from '../../kube/index.js';
import { selectorMatches } from '../../kube/index.js';
import { apiVersionOf, type Resource } from '../../kube-client/index.js';

/** The reference to the one owner that controls the object. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  const { uid } = owner.metadata;
  return uid !== undefined && controllerOf(object)?.uid === uid;
}

export function controllerReference(resource: Resource, { metadata }: KubeObject): OwnerReference {
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** Whether the selector matches; one that nobody can read, and one that names nothing, match nothing. */
export function selects(selector: LabelSelector | undefined, { metadata }: KubeObject): boolean {
  if (selector === undefined || isEmptySelector(selector)) return false;
  try {
    return selectorMatches(selector, metadata.labels ?? {});
  } catch {
    // An operator that does not exist: such a selector matches nothing.
    return false;
  }
}

export function isEmptySelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}
