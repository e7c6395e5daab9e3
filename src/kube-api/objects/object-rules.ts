/** How the API server processes objects: the decisions of create, update and delete, without storage. */

import { applyPodDefaults } from '../../kube/manifests/defaults.js';
import { computeQosClass } from '../../kube/pods/qos.js';
import type { KubeObject, ObjectMeta, Pod } from '../../kube/types/index.js';
import { clone } from '../../kube/values/deep-equal.js';
import { formatTimestamp } from '../../kube/values/go-format.js';
import { isMapping, jsonEqual, member } from '../../kube-client/patches/json.js';
import type { ObjectSubresource, Resource } from '../../kube-client/resources.js';

/** Kinds whose status only their controllers write, through the subresource. */
const kindsWithStatus: ReadonlySet<string> = new Set([
  'Pod',
  'Node',
  'Service',
  'Namespace',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'CertificateSigningRequest',
  'PodCertificateRequest',
  'VolumeAttachment',
  'Deployment',
  'ReplicaSet',
  'StatefulSet',
  'DaemonSet',
  'Job',
  'CronJob',
]);

export interface AssignedIdentity {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string;
  readonly nowMs: number;
}

export function prepareForCreate<T extends KubeObject>(
  resource: Resource<T>,
  given: T,
  identity: AssignedIdentity,
): T {
  const object = clone(given);
  const { uid, name, namespace, nowMs } = identity;
  const { resourceVersion, deletionTimestamp, deletionGracePeriodSeconds, selfLink, ...kept } =
    object.metadata;
  object.metadata = { ...kept, name, uid, creationTimestamp: formatTimestamp(nowMs) };
  if (namespace !== undefined) object.metadata.namespace = namespace;
  if (isPod(resource, object)) {
    const pod = applyPodDefaults(object);
    pod.metadata.generation = 1;
    pod.status = { phase: 'Pending', qosClass: computeQosClass(pod) };
    // The resource is that of pods, so this is one, which the compiler cannot see through the generic.
    return pod as unknown as T;
  }
  if (resource.kind === 'CertificateSigningRequest') Reflect.set(object, 'status', {});
  if (resource.kind === 'Namespace') {
    Reflect.set(object, 'spec', { finalizers: ['kubernetes'] });
    Reflect.set(object, 'status', { phase: 'Active' });
  }
  return object;
}

/** The object to store when `given` is written over `current`. */
export function prepareForUpdate<T extends KubeObject>(
  resource: Resource<T>,
  current: T,
  given: T,
  subresource: ObjectSubresource | undefined,
): T {
  const next = clone(given);
  next.metadata = immutableMetadata(current.metadata, next.metadata);
  if (!kindsWithStatus.has(resource.kind)) return next;
  switch (subresource) {
    case undefined:
      copyMember(current, next, 'status');
      break;
    case 'status':
      copyMember(current, next, 'spec');
      if (resource.kind === 'CertificateSigningRequest')
        keepConditions(current, next, ['Approved', 'Denied']);
      break;
    case 'approval':
      copyMember(current, next, 'spec');
      break;
    case 'ephemeralcontainers':
    case 'resize':
    case 'scale':
      copyMember(current, next, 'status');
      break;
  }
  if (resource.kind === 'Pod') {
    const changed = !jsonEqual(member(current, 'spec'), member(next, 'spec'));
    next.metadata.generation = (current.metadata.generation ?? 1) + (changed ? 1 : 0);
  }
  return next;
}

function immutableMetadata(current: ObjectMeta, given: ObjectMeta): ObjectMeta {
  const next: ObjectMeta = { ...given };
  for (const field of [
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'generation',
    'namespace',
  ] as const) {
    const value = current[field];
    if (value === undefined) delete next[field];
    else Reflect.set(next, field, value);
  }
  return next;
}

function copyMember(from: KubeObject, to: KubeObject, key: 'spec' | 'status'): void {
  const value = member(from, key);
  if (value === undefined) Reflect.deleteProperty(to, key);
  else Reflect.set(to, key, clone(value));
}

/** The status subresource does not change approval. */
function keepConditions(current: KubeObject, next: KubeObject, types: readonly string[]): void {
  const listOf = (object: KubeObject): unknown[] => {
    const conditions = member(member(object, 'status'), 'conditions');
    return Array.isArray(conditions) ? conditions : [];
  };
  const isKept = (condition: unknown): boolean => types.includes(String(member(condition, 'type')));
  const conditions = [...listOf(current).filter(isKept), ...listOf(next).filter((one) => !isKept(one))];
  const status = member(next, 'status');
  Reflect.set(next, 'status', {
    ...(isMapping(status) ? status : {}),
    ...(conditions.length > 0 ? { conditions } : {}),
  });
}

export type Deletion =
  | { readonly kind: 'remove' }
  /** Its deletion waits for its grace period or its finalizers. */
  | {
      readonly kind: 'mark';
      readonly deletionTimestamp: string;
      readonly gracePeriodSeconds: number;
      /** All that it has from now on; absent: those that it had. */
      readonly finalizers?: readonly string[];
    }
  | { readonly kind: 'unchanged' };

export interface DeletionInput {
  readonly resource: Resource;
  readonly object: KubeObject;
  readonly gracePeriodSeconds: number | undefined;
  readonly nowMs: number;
}

export function decideDeletion({ resource, object, gracePeriodSeconds, nowMs }: DeletionInput): Deletion {
  const { deletionTimestamp, deletionGracePeriodSeconds: running, finalizers = [] } = object.metadata;
  const graceSeconds = isPod(resource, object) ? podGraceSeconds(object, gracePeriodSeconds) : 0;
  if (deletionTimestamp !== undefined) {
    const shorter = graceSeconds < (running ?? 0) && (gracePeriodSeconds !== undefined || graceSeconds === 0);
    if (!shorter)
      return graceSeconds === 0 && finalizers.length === 0 ? { kind: 'remove' } : { kind: 'unchanged' };
    if (graceSeconds === 0 && finalizers.length === 0) return { kind: 'remove' };
    const startedMs = Date.parse(deletionTimestamp) - (running ?? 0) * 1000;
    return {
      kind: 'mark',
      deletionTimestamp: formatTimestamp(startedMs + graceSeconds * 1000),
      gracePeriodSeconds: graceSeconds,
    };
  }
  if (graceSeconds === 0 && finalizers.length === 0) return { kind: 'remove' };
  return {
    kind: 'mark',
    deletionTimestamp: formatTimestamp(nowMs + graceSeconds * 1000),
    gracePeriodSeconds: graceSeconds,
  };
}

/** A pod without a node, or that has ended, needs no grace. */
function podGraceSeconds(pod: Pod, asked: number | undefined): number {
  const phase = pod.status?.phase;
  if (!pod.spec.nodeName || phase === 'Succeeded' || phase === 'Failed') return 0;
  const seconds = asked ?? pod.spec.terminationGracePeriodSeconds ?? 30;
  return seconds < 0 ? 1 : seconds;
}

/** Whether an update removed the last thing that a deleted object waited for. */
export function isFullyDeleted({ metadata }: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = metadata;
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0;
}

function isPod(resource: Resource, object: KubeObject): object is Pod {
  return resource.kind === 'Pod' && 'spec' in object;
}
