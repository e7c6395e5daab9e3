/** The rules of writes of the API that this node serves: those of its kinds, and those that hold for all. */
import { randomInt, randomUUID } from 'node:crypto';
import { formatFieldPath } from '../../kube/manifests/document.js';
import {
  type FieldError,
  formatFieldError,
  formatFieldErrors,
} from '../../kube/manifests/validation/field-errors.js';
import type { KubeObject, ObjectMeta } from '../../kube/types/index.js';
import { clone } from '../../kube/values/deep-equal.js';
import { formatTimestamp } from '../../kube/values/go-format.js';
import { InvalidQuantity } from '../../kube/values/quantity.js';
import { ApiError } from '../../kube-client/api-error.js';
import { isDeeper, jsonEqual, member } from '../../kube-client/patches/json.js';
import type { DeleteOptions } from '../../kube-client/port.js';
import {
  type ObjectSubresource,
  qualifiedPlural,
  type Resource,
  resources,
} from '../../kube-client/resources.js';
import { appliedObject, setManagedFields } from '../apply/ownership.js';
import { kubeApiLimits } from '../limits.js';
import { type Deletion, isFullyDeleted } from '../objects/object-rules.js';
import { invalid, invalidFields, notFound, storageFull } from '../objects/server-errors.js';
import type { Storage } from '../objects/storage.js';
import type { WriteRules } from '../objects/write-rules.js';
import type { ServiceAllocator } from './network/service-allocator.js';
import { addedFinalizers, validateObjectMeta } from './object-meta.js';
import type { ServedKind, ServerFacts } from './served-kind.js';

/** Without vowels and digits that look like letters, so that no word appears by accident. */
const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789';
const orphanFinalizer = 'orphan';
const foregroundFinalizer = 'foregroundDeletion';

export interface KindRulesOptions {
  readonly kinds: readonly ServedKind[];
  readonly storage: Storage;
  readonly serviceAddresses?: ServiceAllocator | undefined;
}

export function kindRules({ kinds, storage, serviceAddresses }: KindRulesOptions): WriteRules {
  const byName = new Map(kinds.map((kind) => [qualifiedPlural(kind.resource), kind]));
  const kindOf = (resource: Resource): ServedKind => {
    const kind = byName.get(qualifiedPlural(resource));
    if (kind === undefined)
      throw new ApiError({ code: 404, message: 'the server could not find the requested resource' });
    return kind;
  };
  const factsAt = (nowMs: number): ServerFacts => ({
    nowMs,
    // Only objects of this resource are stored under its name.
    find: <T extends KubeObject>(
      resource: Resource<T>,
      { namespace, name }: { namespace?: string; name: string },
    ) => storage.get(resource, namespace === undefined ? name : `${namespace}/${name}`) as T | undefined,
    list: <T extends KubeObject>(resource: Resource<T>) => storage.list(resource) as T[],
    randomSuffix,
    serviceAddresses,
  });
  return {
    newIdentity: () => ({ uid: randomUUID(), suffix: randomSuffix() }),

    forCreate(resource, given, { name, namespace, uid, nowMs }, write) {
      const kind = kindOf(resource);
      const facts = factsAt(nowMs);
      if (namespace === undefined) refuseNamespace(given.metadata.namespace);
      else refuseWithoutNamespace(facts, resource, name, namespace);
      const {
        resourceVersion,
        deletionTimestamp,
        deletionGracePeriodSeconds,
        selfLink,
        managedFields,
        ...kept
      } = given.metadata;
      given.metadata = { ...kept, name, uid, creationTimestamp: formatTimestamp(nowMs) };
      if (namespace === undefined) delete given.metadata.namespace;
      else given.metadata.namespace = namespace;
      if (kind.subresources.includes('status') && kind.takesStatusOnCreate !== true)
        Reflect.deleteProperty(given, 'status');
      if (kind.countsGenerations === true) given.metadata.generation = 1;
      return judged(resource, () => {
        kind.defaults?.(given);
        setManagedFields(resource, undefined, given, managedFields, write, nowMs);
        kind.admit?.(given, facts);
        refuseInvalid(resource, name, [
          ...validateObjectMeta(given.metadata, resource),
          ...(kind.validate?.(given, undefined) ?? []),
        ]);
        refuseLarge(resource, given);
        return given;
      });
    },

    forUpdate(resource, current, given, write, nowMs) {
      const { subresource } = write;
      const { managedFields } = given.metadata;
      const kind = kindOf(resource);
      const name = current.metadata.name ?? '';
      given.metadata = keptMetadata(current.metadata, given.metadata, subresource);
      keepOtherPart(kind, current, given, subresource);
      return judged(resource, () => {
        kind.defaults?.(given);
        kind.keep?.(given, current, subresource, factsAt(nowMs));
        setManagedFields(resource, current, given, managedFields, write, nowMs);
        if (kind.countsGenerations === true && !jsonEqual(member(current, 'spec'), member(given, 'spec')))
          given.metadata.generation = (current.metadata.generation ?? 1) + 1;
        refuseInvalid(resource, name, [
          ...validateObjectMeta(given.metadata, resource),
          ...addedFinalizers(given.metadata, current.metadata),
          ...(subresource === 'status' ? [] : (kind.validate?.(given, current) ?? [])),
          ...(kind.validateUpdate?.(given, current, subresource) ?? []),
        ]);
        const bytes = refuseLarge(resource, given);
        const grown = bytes - storage.sizeOf(current);
        if (grown > 0 && storage.bytes + grown > kubeApiLimits.storedBytes) throw storageFull();
        return given;
      });
    },

    forApply: (resource, current, config, write, nowMs) =>
      appliedObject(
        resource,
        current,
        config,
        kindOf(resource).subresources.includes('status'),
        write,
        nowMs,
      ),

    forDelete(resource, object, options, nowMs) {
      const decided = kindOf(resource).deletion?.(object, options, nowMs);
      return withPropagation(object, options, decided ?? plainDeletion(object, nowMs), nowMs);
    },

    isFullyDeleted: (resource, object) =>
      isFullyDeleted(object) && kindOf(resource).isHeld?.(object) !== true,
  };
}

/** The rules read members as their types say; a member of another type is the client's mistake. */
function judged<T>(resource: Resource, decide: () => T): T {
  try {
    return decide();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof InvalidQuantity)) throw error;
    const { kind, version } = resource;
    const message = `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${error.message}`;
    throw new ApiError({ code: 400, reason: 'BadRequest', message });
  }
}

function randomSuffix(): string {
  return Array.from({ length: 5 }, () => suffixLetters.charAt(randomInt(suffixLetters.length))).join('');
}

function refuseWithoutNamespace(
  facts: ServerFacts,
  resource: Resource,
  name: string,
  namespace: string,
): void {
  const found = facts.find(resources.namespaces, { name: namespace });
  if (found === undefined) throw notFound(resources.namespaces, namespace);
  if (found.metadata.deletionTimestamp === undefined) return;
  const message = `${qualifiedPlural(resource)} ${JSON.stringify(name)} is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`;
  const causes = [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ];
  throw new ApiError({
    code: 403,
    reason: 'Forbidden',
    message,
    details: { name, kind: resource.plural, causes },
  });
}

/** Clients that always name one name this. */
const usualNamespace = 'default';

function refuseNamespace(given: string | undefined): void {
  if (!given || given === usualNamespace) return;
  const message = 'the namespace of the provided object does not match the namespace sent on the request';
  throw new ApiError({ code: 400, reason: 'BadRequest', message });
}

function refuseInvalid(resource: Resource, name: string, errors: readonly FieldError[]): void {
  // The rules of a kind may judge the metadata once more.
  const different = new Map(errors.map((error) => [formatFieldError(error), error]));
  if (different.size === 0) return;
  const all = [...different.values()];
  const fields = all.map(({ path, message }) => ({ field: formatFieldPath(path), message }));
  throw invalidFields(resource, name, formatFieldErrors(all), fields);
}

/** Returns the size of the object as JSON. */
function refuseLarge(resource: Resource, object: KubeObject): number {
  const { depth, objectBytes } = kubeApiLimits;
  if (isDeeper(object, depth))
    throw invalid(
      resource,
      object.metadata.name ?? '',
      `lists and mappings are nested more than ${depth} levels deep`,
    );
  const bytes = Buffer.byteLength(JSON.stringify(object));
  if (bytes <= objectBytes) return bytes;
  throw new ApiError({
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: `Request entity too large: limit is ${objectBytes}`,
  });
}

const fixedMetadata = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'generateName',
  'managedFields',
] as const satisfies readonly (keyof ObjectMeta)[];

/** A write of the status changes no owners. */
function keptMetadata(
  current: ObjectMeta,
  given: ObjectMeta,
  subresource: ObjectSubresource | undefined,
): ObjectMeta {
  const next: ObjectMeta = { ...given };
  const fixed = subresource === 'status' ? [...fixedMetadata, 'ownerReferences' as const] : fixedMetadata;
  for (const field of fixed) {
    const value = current[field];
    if (value === undefined) delete next[field];
    else Reflect.set(next, field, value);
  }
  return next;
}

/** The spec is written at the object, the status at its subresource. */
function keepOtherPart(
  kind: ServedKind,
  current: KubeObject,
  next: KubeObject,
  subresource: ObjectSubresource | undefined,
): void {
  if (!kind.subresources.includes('status')) return;
  const kept = subresource === 'status' ? 'spec' : 'status';
  const value = member(current, kept);
  if (value === undefined) Reflect.deleteProperty(next, kept);
  else Reflect.set(next, kept, clone(value));
}

function plainDeletion({ metadata }: KubeObject, nowMs: number): Deletion {
  if ((metadata.finalizers ?? []).length === 0) return { kind: 'remove' };
  if (metadata.deletionTimestamp !== undefined) return { kind: 'unchanged' };
  return { kind: 'mark', deletionTimestamp: formatTimestamp(nowMs), gracePeriodSeconds: 0 };
}

/** Dependents that go first, or stay behind, hold the object by a finalizer. */
function withPropagation(
  object: KubeObject,
  { propagationPolicy }: DeleteOptions,
  decided: Deletion,
  nowMs: number,
): Deletion {
  const had = object.metadata.finalizers ?? [];
  const others = had.filter((one) => one !== orphanFinalizer && one !== foregroundFinalizer);
  const added =
    propagationPolicy === 'Foreground'
      ? [foregroundFinalizer]
      : propagationPolicy === 'Orphan'
        ? [orphanFinalizer]
        : [];
  if (propagationPolicy === undefined || (added.length === 0 && others.length === had.length)) return decided;
  const finalizers = [...others, ...added];
  const { deletionTimestamp = formatTimestamp(nowMs), deletionGracePeriodSeconds = 0 } = object.metadata;
  switch (decided.kind) {
    case 'mark':
      return { ...decided, finalizers };
    case 'remove':
      if (finalizers.length === 0) return decided;
      return { kind: 'mark', deletionTimestamp, gracePeriodSeconds: 0, finalizers };
    case 'unchanged':
      return finalizers.length === 0 && deletionGracePeriodSeconds === 0
        ? { kind: 'remove' }
        : { kind: 'mark', deletionTimestamp, gracePeriodSeconds: deletionGracePeriodSeconds, finalizers };
  }
}
