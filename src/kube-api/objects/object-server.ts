/** The simulated server's work for one request, immediate and without faults: read, create, write, delete. */
import type { Clock } from '../../async/index.js';
import type { KubeObject } from '../../kube/types/index.js';
import { ApiError } from '../../kube-client/api-error.js';
import { PatchRefused } from '../../kube-client/patches/json.js';
import { applyJsonPatch } from '../../kube-client/patches/json-patch.js';
import { mergeSchemaOf } from '../../kube-client/patches/merge-keys.js';
import { applyMergePatch } from '../../kube-client/patches/merge-patch.js';
import { applyStrategicMergePatch } from '../../kube-client/patches/strategic-merge.js';
import type { DeleteOptions, ObjectRef, Patch } from '../../kube-client/port.js';
import { type ObjectSubresource, qualifiedPlural, type Resource } from '../../kube-client/resources.js';
import { decideDeletion, isFullyDeleted, prepareForCreate, prepareForUpdate } from './object-rules.js';
import {
  alreadyExists,
  conflict,
  deletePreconditionFailed,
  invalid,
  notFound,
  uidMismatch,
} from './server-errors.js';
import type { Storage } from './storage.js';

export class ObjectServer {
  readonly clock: Clock;
  readonly #storage: Storage;
  #made = 0;

  constructor(clock: Clock, storage: Storage) {
    this.clock = clock;
    this.#storage = storage;
  }

  /** A number unique among objects and tokens. */
  nextSerial(): number {
    return ++this.#made;
  }

  existing<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): T {
    const found = this.#storage.get(resource, keyOf(resource, ref));
    if (found === undefined) throw notFound(resource, ref.name);
    // Only objects of this resource are stored under its name.
    return found as T;
  }

  create<T extends KubeObject>(resource: Resource<T>, given: T, namespace: string | undefined): T {
    const { name: asked, generateName } = given.metadata;
    const serial = this.nextSerial();
    const name = asked || (generateName ? `${generateName}${randomLookingSuffix(serial)}` : undefined);
    if (name === undefined)
      throw invalid(resource, '', 'metadata.name: Required value: name or generateName is required');
    if (resource.namespaced && !namespace) {
      throw new ApiError({ code: 400, message: 'an empty namespace may not be set during creation' });
    }
    const place = resource.namespaced ? namespace : undefined;
    const key = keyOf(resource, place === undefined ? { name } : { namespace: place, name });
    if (this.#storage.get(resource, key) !== undefined) throw alreadyExists(resource, name);
    const identity = { name, namespace: place, uid: uidOf(serial), nowMs: this.clock.now() };
    const prepared = prepareForCreate(resource, asSent(given), identity);
    return this.#storage.put(resource, key, (resourceVersion) => versioned(prepared, resourceVersion));
  }

  update<T extends KubeObject>(
    resource: Resource<T>,
    given: T,
    subresource: ObjectSubresource | undefined,
  ): T {
    const current = this.existing(resource, refOf(given));
    const { uid } = given.metadata;
    if (uid !== undefined && uid !== current.metadata.uid) {
      throw uidMismatch(resource, current.metadata.name ?? '', uid, current.metadata.uid);
    }
    return this.replace(resource, current, asSent(given), subresource);
  }

  patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    subresource: ObjectSubresource | undefined,
  ): T {
    const current = this.existing(resource, ref);
    const patched = asSent(applyPatch(resource, current, patch));
    const { uid } = patched.metadata;
    if (uid !== current.metadata.uid) {
      const why = `metadata.uid: Invalid value: ${JSON.stringify(uid)}: field is immutable`;
      throw invalid(resource, ref.name, why);
    }
    return this.replace(resource, current, patched, subresource);
  }

  /** Overwrites an object that was just read. */
  replace<T extends KubeObject>(
    resource: Resource<T>,
    current: T,
    given: T,
    subresource: ObjectSubresource | undefined,
  ): T {
    const name = current.metadata.name ?? '';
    const { resourceVersion } = given.metadata;
    if (resourceVersion && resourceVersion !== current.metadata.resourceVersion)
      throw conflict(resource, name);
    const next = prepareForUpdate(resource, current, given, subresource);
    const key = keyOf(resource, refOf(current));
    if (isFullyDeleted(next)) return this.#storage.remove(resource, key, next);
    if (isUnchanged(current, next)) return current;
    return this.#storage.put(resource, key, (version) => versioned(next, version));
  }

  delete<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, options: DeleteOptions): T {
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
    const { gracePeriodSeconds } = options;
    const deletion = decideDeletion({
      resource,
      object,
      gracePeriodSeconds,
      nowMs: this.clock.now(),
    });
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
          ...(resource.kind === 'Pod' ? { generation: (object.metadata.generation ?? 1) + 1 } : {}),
        };
        return this.#storage.put(resource, key, (version) => versioned({ ...object, metadata }, version));
      }
    }
  }
}

function applyPatch<T extends KubeObject>(resource: Resource<T>, current: T, patch: Patch): T {
  const fail = (error: unknown): never => {
    if (!(error instanceof PatchRefused)) throw error;
    throw new ApiError({ code: 422, reason: 'Invalid', message: error.message });
  };
  try {
    switch (patch.type) {
      // The server does not check that a patched object still is of its kind.
      case 'merge':
        return applyMergePatch(current, patch.body) as T;
      case 'strategic':
        return applyStrategicMergePatch(mergeSchemaOf(resource), current, patch.body) as T;
      case 'json':
        return applyJsonPatch(current, patch.body) as T;
    }
  } catch (error) {
    return fail(error);
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
  const plain = (object: KubeObject): string =>
    JSON.stringify({ ...object, metadata: { ...object.metadata, resourceVersion: '' } }, sortedKeys);
  return plain(current) === plain(next);
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The same in each run, so that a failed test can be repeated. */
function uidOf(serial: number): string {
  return `00000000-0000-4000-8000-${serial.toString(16).padStart(12, '0')}`;
}

function randomLookingSuffix(serial: number): string {
  return ((serial * 2_654_435_761) % 2 ** 25).toString(36).padStart(5, '0').slice(-5);
}
