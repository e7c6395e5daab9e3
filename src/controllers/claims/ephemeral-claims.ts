/** Makes the claims of pods' ephemeral volumes. */
import { claimReference } from '../../kube/index.js';
import { isAlreadyExists, resources } from '../../kube-client/index.js';
import { type Controller, type ControllerContext, queueOf } from '../driver/context.js';
import type { KeyOutcome } from '../driver/key-queue.js';
import { keyOfObject, refOfKey } from '../driver/kind-cache.js';
import { controllerReference } from '../ownership/owner-references.js';
import { isActive } from '../pods/pod-facts.js';

export function createEphemeralClaims(context: ControllerContext): Controller {
  const { api, caches } = context;
  const claims = caches.of(resources.persistentVolumeClaims);
  const pods = caches.of(resources.pods);
  const queue = queueOf(context, { name: 'ephemeral volume', keys: resources.pods, sync });
  // The claim of a former pod of the same name must go before the pod can have its own.
  claims.onChange(({ before, after }) => {
    if (after !== undefined) return;
    const { namespace = '', name } = before.metadata;
    for (const pod of pods.inNamespace(namespace)) {
      const isWanted = (pod.spec.volumes ?? []).some((volume) => {
        const reference = claimReference(pod, volume);
        return reference?.isEphemeral === true && reference.name === name;
      });
      if (isWanted) queue.add(keyOfObject(pod));
    }
  });

  async function sync(key: string, signal: AbortSignal): Promise<KeyOutcome> {
    const pod = pods.get(refOfKey(key));
    if (pod === undefined || !isActive(pod)) return {};
    for (const volume of pod.spec.volumes ?? []) {
      const template = volume.ephemeral?.volumeClaimTemplate;
      const reference = claimReference(pod, volume);
      if (template === undefined || reference === undefined || claims.get(reference) !== undefined) continue;
      const { labels, annotations } = template.metadata ?? {};
      const metadata = {
        name: reference.name,
        namespace: reference.namespace,
        ...(labels === undefined ? {} : { labels }),
        ...(annotations === undefined ? {} : { annotations }),
        ownerReferences: [controllerReference(resources.pods, pod)],
      };
      try {
        await api.create(resources.persistentVolumeClaims, { metadata, spec: template.spec }, { signal });
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    }
    return {};
  }

  return { name: 'ephemeral volume', run: (signal) => queue.run(signal) };
}
