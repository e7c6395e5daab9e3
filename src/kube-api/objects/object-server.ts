/** A server's work for one request on its storage, immediate: read, create, write, delete. */
import type { Clock } from '../../async/index.js';
import type { KubeObject, Pod } from '../../kube/types/index.js';
import { ApiError } from '../../kube-client/api-error.js';
import { isMapping, jsonEqual, PatchRefused } from '../../kube-client/patches/json.js';
import { applyJsonPatch } from '../../kube-client/patches/json-patch.js';
import { applyMergePatch } from '../../kube-client/patches/merge-patch.js';
import { applyStrategicMergePatch } from '../../kube-client/patches/strategic-merge.js';
import type { DeleteOptions, ObjectRef, Patch } from '../../kube-client/port.js';
import { qualifiedPlural, type Resource, resources } from '../../kube-client/resources.js';
import { servedMergeSchema } from '../schema/merge-schema.js';
import {
  alreadyExists,
  conflict,
  deletePreconditionFailed,
  invalid,
  notFound,
  uidMismatch,
} from './server-errors.js';
import type { Storage } from './storage.js';
import { type ObjectWrite, simulatedRules, type WriteRules } from './write-rules.js';

/** Of a name that is generated, which must be a label of a DNS name with its suffix. */
const longestBase = 58;

export class ObjectServer {
  readonly clock: Clock;
  readonly #storage: Storage;
  readonly #rules: WriteRules;
  #made = 0;

  constructor(clock: Clock, storage: Storage, rules: WriteRules = simulatedRules) {
    this.clock = clock;
    this.#storage = storage;
    this.#rules = rules;
  }

  /** A number unique among objects and tokens. */
  nextSerial(): number {
    return ++this.#made;
  }

  has(resource: Resource, ref: ObjectRef): boolean {
    return this.#storage.get(resource, keyOf(resource, ref)) !== undefined;
  }

  existing<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): T {
    const found = this.#storage.get(resource, keyOf(resource, ref));
    if (found === undefined) throw notFound(resource, ref.name);
    // Only objects of this resource are stored under its name.
    return found as T;
  }

  create<T extends KubeObject>(
    resource: Resource<T>,
    given: T,
    namespace: string | undefined,
    write: ObjectWrite = {},
  ): T {
    const { name: asked, generateName } = given.metadata;
    const { uid, suffix } = this.#rules.newIdentity(this.nextSerial());
    const name = asked || (generateName ? `${generateName.slice(0, longestBase)}${suffix}` : undefined);
    if (name === undefined)
      throw invalid(resource, '', 'metadata.name: Required value: name or generateName is required');
    if (resource.namespaced && !namespace) {
      throw new ApiError({ code: 400, message: 'an empty namespace may not be set during creation' });
    }
    const place = resource.namespaced ? namespace : undefined;
    const key = keyOf(resource, place === undefined ? { name } : { namespace: place, name });
    if (this.#storage.get(resource, key) !== undefined) throw alreadyExists(resource, name);
    const identity = { name, namespace: place, uid, nowMs: this.clock.now() };
    const prepared = this.#rules.forCreate(resource, asSent(given), identity, write);
    if (write.dryRun === true) return prepared;
    return this.#storage.put(resource, key, (resourceVersion) => versioned(prepared, resourceVersion));
  }

  update<T extends KubeObject>(resource: Resource<T>, given: T, write: ObjectWrite = {}): T {
    const current = this.existing(resource, refOf(given));
    const { uid } = given.metadata;
    if (uid !== undefined && uid !== current.metadata.uid) {
      throw uidMismatch(resource, current.metadata.name ?? '', uid, current.metadata.uid);
    }
    return this.replace(resource, current, asSent(given), write);
  }

  patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    write: ObjectWrite = {},
  ): T {
    const current = this.existing(resource, ref);
    const merged = asSent(applyPatch(resource, current, patch));
    const patched = write.readPatched?.(resource, merged) ?? merged;
    const { uid } = patched.metadata;
    if (uid !== current.metadata.uid) {
      const why = `metadata.uid: Invalid value: ${JSON.stringify(uid)}: field is immutable`;
      throw invalid(resource, ref.name, why);
    }
    return this.replace(resource, current, patched, write);
  }

  /** Makes the fields of a configuration those of its manager; creates an object that is not there. */
  apply<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    config: T,
    write: ObjectWrite,
  ): { readonly object: T; readonly isNew: boolean } {
    // Only objects of this resource are stored under its name.
    const current = this.#storage.get(resource, keyOf(resource, ref)) as T | undefined;
    const { uid } = config.metadata;
    if (current === undefined && write.subresource !== undefined) throw notFound(resource, ref.name);
    if (current === undefined && uid !== undefined)
      throw conflict(
        resource,
        ref.name,
        `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      );
    if (current !== undefined && uid !== undefined && uid !== current.metadata.uid)
      throw uidMismatch(resource, ref.name, uid, current.metadata.uid);
    const applied = this.#rules.forApply?.(resource, current, config, write, this.clock.now());
    if (applied === undefined)
      throw new ApiError({ code: 415, message: 'this server applies no configurations' });
    const decided = { ...write, isApplied: true };
    return current === undefined
      ? { object: this.create(resource, applied, ref.namespace, decided), isNew: true }
      : { object: this.replace(resource, current, asSent(applied), decided), isNew: false };
  }

  /** Overwrites an object that was just read. */
  replace<T extends KubeObject>(resource: Resource<T>, current: T, given: T, write: ObjectWrite = {}): T {
    const name = current.metadata.name ?? '';
    const { resourceVersion } = given.metadata;
    if (resourceVersion && resourceVersion !== current.metadata.resourceVersion)
      throw conflict(resource, name);
    const next = this.#rules.forUpdate(resource, current, given, write, this.clock.now());
    const key = keyOf(resource, refOf(current));
    if (write.dryRun === true) return next;
    if (this.#rules.isFullyDeleted(resource, next)) return this.#storage.remove(resource, key, next);
    if (isUnchanged(current, next)) return current;
    return this.#storage.put(resource, key, (version) => versioned(next, version));
  }

  /** Gives a pod to a node: the one change of a spec that no client may make. */
  bind(current: Pod, bound: Pod): void {
    this.#storage.put(resources.pods, keyOf(resources.pods, refOf(current)), (version) =>
      versioned(bound, version),
    );
  }

  delete<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options: DeleteOptions,
    { dryRun = false }: Pick<ObjectWrite, 'dryRun'> = {},
  ): T {
    const object = this.existing(resource, ref);
    const { uid, resourceVersion } = options.preconditions ?? {};
    if (uid !== undefined && uid !== object.metadata.uid) {
      throw deletePreconditionFailed(resource, ref.name, 'UID', uid, object.metadata.uid);
    }
    if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) {
      throw deletePreconditionFailed(
        resource,
        ref.name,
        'ResourceVersion',
        resourceVersion,
        object.metadata.resourceVersion,
      );
    }
    const deletion = this.#rules.forDelete(resource, object, options, this.clock.now());
    if (dryRun) return object;
    const key = keyOf(resource, ref);
    switch (deletion.kind) {
      case 'remove':
        return this.#storage.remove(resource, key, object);
      case 'unchanged':
        return object;
      case 'mark': {
        const metadata = {
          ...object.metadata,
          deletionTimestamp: deletion.deletionTimestamp,
          deletionGracePeriodSeconds: deletion.gracePeriodSeconds,
          ...(deletion.finalizers === undefined ? {} : { finalizers: [...deletion.finalizers] }),
          ...(resource.kind === 'Pod' ? { generation: (object.metadata.generation ?? 1) + 1 } : {}),
        };
        return this.#storage.put(resource, key, (version) => versioned({ ...object, metadata }, version));
      }
    }
  }
}

function applyPatch<T extends KubeObject>(resource: Resource<T>, current: T, patch: Patch): T {
  const refuse = (message: string): ApiError => new ApiError({ code: 422, reason: 'Invalid', message });
  let patched: unknown;
  try {
    patched = patchedValue(resource, current, patch);
  } catch (error) {
    if (!(error instanceof PatchRefused)) throw error;
    throw refuse(error.message);
  }
  if (!isMapping(patched)) throw refuse('the patch leaves no object');
  // Whether it still is of its kind is for the schema to say.
  return patched as unknown as T;
}

function patchedValue(resource: Resource, current: KubeObject, patch: Patch): unknown {
  switch (patch.type) {
    case 'merge':
      return applyMergePatch(current, patch.body);
    case 'strategic':
      return applyStrategicMergePatch(servedMergeSchema(resource), current, patch.body);
    case 'json':
      return applyJsonPatch(current, patch.body);
  }
}

function refOf({ metadata: { name = '', namespace } }: KubeObject): ObjectRef {
  return namespace === undefined ? { name } : { namespace, name };
}

function keyOf(resource: Resource, { namespace = '', name }: ObjectRef): string {
  if (resource.namespaced && namespace === '')
    throw new TypeError(`${qualifiedPlural(resource)} need a namespace`);
  return resource.namespaced ? `${namespace}/${name}` : name;
}

function versioned<T extends KubeObject>(object: T, resourceVersion: string): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

/** As sent over the wire: undefined members are absent. */
function asSent<T extends KubeObject>(object: T): T {
  return JSON.parse(JSON.stringify(object));
}

function isUnchanged(current: KubeObject, next: KubeObject): boolean {
  const plain = (object: KubeObject): unknown => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: '' },
  });
  return jsonEqual(plain(current), plain(next));
}
