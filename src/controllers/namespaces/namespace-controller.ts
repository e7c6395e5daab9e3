/** Ends namespaces: deletes all that is in a deleted one, and lets it go when nothing is left. */
import { errorText, isCancelled } from '../../async/index.js';
import { semanticEqual } from '../../kube/index.js';
import {
  isNotFound,
  type Namespace,
  qualifiedPlural,
  type Resource,
  resources,
} from '../../kube-client/index.js';
import { type Controller, type ControllerContext, queueOf } from '../driver/context.js';
import type { KeyOutcome } from '../driver/key-queue.js';
import { keyOf, refOfKey } from '../driver/kind-cache.js';
import { contentFinalizer, decideNamespaceEnd, type RemainingContent } from './decide.js';

/** For what no watch tells of. */
const lookAgainMs = 5000;
const countedObjects = 500;

export function createNamespaceController(
  context: ControllerContext,
  kinds: readonly Resource[],
): Controller {
  const { api, clock, caches } = context;
  const namespaces = caches.of(resources.namespaces);
  const contents = kinds.filter(({ namespaced }) => namespaced);

  const queue = queueOf(context, { name: 'namespace', keys: resources.namespaces, sync });
  for (const kind of contents) {
    caches.of(kind).onChange(({ before, after }) => {
      const { namespace = '' } = (before ?? after)?.metadata ?? {};
      if (after === undefined && isEnding(namespaces.get({ name: namespace })))
        queue.add(keyOf({ name: namespace }));
    });
  }

  async function sync(key: string, signal: AbortSignal): Promise<KeyOutcome> {
    const namespace = namespaces.get(refOfKey(key));
    if (namespace === undefined || !isEnding(namespace)) return {};
    if (!(namespace.spec?.finalizers ?? []).includes(contentFinalizer)) return {};
    const { name = '' } = namespace.metadata;
    const failures: string[] = [];
    const remaining: RemainingContent[] = [];
    for (const kind of contents) {
      try {
        await empty(kind, name, signal);
        const left = await api.list(kind, { namespace: name, limit: countedObjects, signal });
        const finalizers = left.items.flatMap(({ metadata }) => metadata.finalizers ?? []);
        if (left.items.length > 0)
          remaining.push({ kind: qualifiedPlural(kind), count: left.items.length, finalizers });
      } catch (error) {
        if (isCancelled(error)) throw error;
        failures.push(`${qualifiedPlural(kind)}: ${errorText(error)}`);
      }
    }
    const end = decideNamespaceEnd({ namespace, remaining, failures, nowMs: clock.now() });
    if (end.kind === 'finalize') {
      await finalize(namespace, signal);
      return {};
    }
    if (!semanticEqual(namespace.status, end.status))
      await api.update(
        resources.namespaces,
        { ...namespace, status: end.status },
        { subresource: 'status', signal },
      );
    return { againAfterMs: lookAgainMs };
  }

  async function empty(kind: Resource, namespace: string, signal: AbortSignal): Promise<void> {
    const present = await api.list(kind, { namespace, limit: 1, signal });
    if (present.items.length > 0) await api.deleteCollection(kind, { namespace, signal });
  }

  async function finalize(namespace: Namespace, signal: AbortSignal): Promise<void> {
    const finalizers = (namespace.spec?.finalizers ?? []).filter((one) => one !== contentFinalizer);
    try {
      await api.update(
        resources.namespaces,
        { ...namespace, spec: { ...namespace.spec, finalizers } },
        { subresource: 'finalize', signal },
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  return { name: 'namespace', run: (signal) => queue.run(signal) };
}

function isEnding(namespace: Namespace | undefined): boolean {
  return namespace?.metadata.deletionTimestamp !== undefined;
}
