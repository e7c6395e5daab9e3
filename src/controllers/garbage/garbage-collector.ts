/** Deletes objects whose owners are gone, and lets owners go in the order that their deletion asked for. */
import type { KubeObject, OwnerReference } from '../../kube/index.js';
import {
  isConflict,
  isNotFound,
  qualifiedPlural,
  type Resource,
  resources,
} from '../../kube-client/index.js';
import type { Controller, ControllerContext } from '../driver/context.js';
import { type KeyOutcome, KeyQueue } from '../driver/key-queue.js';
import type { KindCache } from '../driver/kind-cache.js';
import { keyOfObject, refOf, refOfKey } from '../driver/kind-cache.js';
import {
  decideDependent,
  decideOwner,
  foregroundFinalizer,
  isWaitingForDependents,
  type OwnedState,
  type OwnerState,
  orphanFinalizer,
} from './decide.js';

const component = 'garbage-collector-controller';

export function createGarbageCollector(context: ControllerContext, kinds: readonly Resource[]): Controller {
  const { api, clock, caches, events, timeline } = context;
  // Events have no owners, and there are many of them.
  const collected = kinds.filter((kind) => qualifiedPlural(kind) !== qualifiedPlural(resources.events));
  const byName = new Map(collected.map((kind) => [qualifiedPlural(kind), caches.of(kind)]));
  const byKind = new Map(collected.map((kind) => [`${kind.group} ${kind.kind}`, caches.of(kind)]));

  const queue = new KeyQueue({
    clock,
    sync,
    onFailure: (key, error, retryAfterMs) =>
      timeline.record({
        kind: 'problem',
        what: 'controller.sync',
        level: isConflict(error) || isNotFound(error) ? 'debug' : 'warn',
        message: `The garbage collector could not decide on ${key} and tries again`,
        data: { controller: 'garbage collector', key, retryAfterMs },
        error,
      }),
    onDropped: () => {
      for (const cache of byName.values()) for (const object of cache.list()) wake(cache, object);
    },
  });
  for (const cache of byName.values()) {
    cache.onChange(({ before, after }) => {
      if (after !== undefined) wake(cache, after);
      const owner = after ?? before;
      if (owner === undefined) return;
      const goes = after === undefined || isWaitingForDependents(after) || hasLeftOwner(before, after);
      if (!goes) return;
      for (const [dependent, of] of dependentsOf(owner)) wake(of, dependent);
      // An owner that waits for this one looks again.
      for (const reference of (before ?? owner).metadata.ownerReferences ?? []) {
        const found = cacheOf(reference)?.byUid(reference.uid);
        const of = cacheOf(reference);
        if (found !== undefined && of !== undefined) wake(of, found);
      }
    });
  }

  /** Most objects have neither owners nor dependents that wait for them: they are no work. */
  function wake(cache: KindCache<KubeObject>, object: KubeObject): void {
    const { ownerReferences = [], finalizers = [], deletionTimestamp } = object.metadata;
    const isHeld = finalizers.includes(foregroundFinalizer) || finalizers.includes(orphanFinalizer);
    if (ownerReferences.length > 0 || (deletionTimestamp !== undefined && isHeld))
      queue.add(`${qualifiedPlural(cache.resource)}:${keyOfObject(object)}`);
  }

  function hasLeftOwner(before: KubeObject | undefined, after: KubeObject): boolean {
    return (before?.metadata.ownerReferences?.length ?? 0) > (after.metadata.ownerReferences?.length ?? 0);
  }

  function cacheOf({ apiVersion, kind }: OwnerReference): KindCache<KubeObject> | undefined {
    const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : [''];
    return byKind.get(`${group} ${kind}`);
  }

  function dependentsOf({ metadata: { uid = '' } }: KubeObject): [KubeObject, KindCache<KubeObject>][] {
    return [...byName.values()].flatMap((cache) =>
      cache.ownedBy(uid).map((object): [KubeObject, KindCache<KubeObject>] => [object, cache]),
    );
  }

  async function sync(key: string, signal: AbortSignal): Promise<KeyOutcome> {
    const [plural = '', name = ''] = key.split(':');
    const cache = byName.get(plural);
    const object = cache?.get(refOfKey(name));
    if (cache === undefined || object === undefined) return {};
    await serveOwner(cache, object, signal);
    await serveDependent(cache, object, signal);
    return {};
  }

  async function serveOwner(
    cache: KindCache<KubeObject>,
    object: KubeObject,
    signal: AbortSignal,
  ): Promise<void> {
    const dependents = dependentsOf(object);
    const step = decideOwner(
      object,
      dependents.map(([dependent]) => dependent),
    );
    switch (step.kind) {
      case 'none':
      case 'wait':
        return;
      case 'orphan':
        for (const [dependent, of] of dependents)
          await dropReferences(of.resource, dependent, [object.metadata.uid ?? ''], signal);
        return releaseOwner(cache.resource, object, orphanFinalizer, signal);
      case 'release':
        return releaseOwner(cache.resource, object, step.finalizer, signal);
    }
  }

  async function serveDependent(
    cache: KindCache<KubeObject>,
    object: KubeObject,
    signal: AbortSignal,
  ): Promise<void> {
    const references = object.metadata.ownerReferences ?? [];
    if (references.length === 0) return;
    const owners: OwnedState[] = [];
    for (const reference of references)
      owners.push({ reference, state: await stateOf(cache.resource, object, reference, signal) });
    const step = decideDependent(object, owners, dependentsOf(object).length > 0);
    switch (step.kind) {
      case 'keep':
        return;
      case 'drop-references':
        return dropReferences(cache.resource, object, step.uids, signal);
      case 'delete': {
        const { uid, resourceVersion } = object.metadata;
        // The version makes a decision from an old copy fail: somebody may have changed the owners.
        await unlessGone(
          api.delete(cache.resource, refOf(object), {
            preconditions: {
              ...(uid === undefined ? {} : { uid }),
              ...(resourceVersion === undefined ? {} : { resourceVersion }),
            },
            propagationPolicy: step.propagation,
            signal,
          }),
        );
      }
    }
  }

  async function stateOf(
    resource: Resource,
    object: KubeObject,
    reference: OwnerReference,
    signal: AbortSignal,
  ): Promise<OwnerState> {
    const cache = cacheOf(reference);
    const tell = (message: string): void =>
      events.record({
        component,
        resource,
        object,
        type: 'Warning',
        reason: 'OwnerRefInvalidNamespace',
        message,
      });
    if (cache === undefined) return 'unknown';
    const { namespaced } = cache.resource;
    if (namespaced && !resource.namespaced) {
      tell(`ownerRef ${reference.kind} ${reference.name} is namespaced, but this object is not`);
      return 'unknown';
    }
    const known = cache.byUid(reference.uid);
    const { namespace = '' } = object.metadata;
    if (known !== undefined) {
      if (namespaced && known.metadata.namespace !== namespace) {
        tell(
          `ownerRef ${reference.kind} ${reference.name}, uid ${reference.uid} does not exist in namespace "${namespace}"`,
        );
        return 'absent';
      }
      return isWaitingForDependents(known) ? 'waiting' : 'present';
    }
    // The copy may be behind: only the server can say that an owner is gone.
    const ref = namespaced ? { namespace, name: reference.name } : { name: reference.name };
    const found = await unlessGone(api.get(cache.resource, ref, { signal }));
    if (found === undefined || found.metadata.uid !== reference.uid) return 'absent';
    return isWaitingForDependents(found) ? 'waiting' : 'present';
  }

  async function dropReferences(
    resource: Resource,
    object: KubeObject,
    uids: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { resourceVersion, ownerReferences = [] } = object.metadata;
    const kept = ownerReferences.filter(({ uid }) => !uids.includes(uid));
    if (kept.length === ownerReferences.length) return;
    const body = { metadata: { resourceVersion, ownerReferences: kept } };
    await unlessGone(api.patch(resource, refOf(object), { type: 'merge', body }, { signal }));
  }

  async function releaseOwner(
    resource: Resource,
    object: KubeObject,
    finalizer: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { resourceVersion, finalizers = [] } = object.metadata;
    const body = { metadata: { resourceVersion, finalizers: finalizers.filter((one) => one !== finalizer) } };
    await unlessGone(api.patch(resource, refOf(object), { type: 'merge', body }, { signal }));
  }

  return { name: 'garbage collector', run: (signal) => queue.run(signal) };
}

/** Undefined when the object is gone already. */
async function unlessGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
