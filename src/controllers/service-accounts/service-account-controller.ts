/** Gives each namespace the account `default` and the bundle of root certificates, and restores them. */
import { isAlreadyExists, resources } from '../../kube-client/index.js';
import { type Controller, type ControllerContext, queueOf } from '../driver/context.js';
import type { KeyOutcome } from '../driver/key-queue.js';
import { keyOf, refOfKey } from '../driver/kind-cache.js';
import { isNamespaceTerminating } from '../pods/pod-control.js';
import {
  decideNamespaceObjects,
  defaultAccount,
  type NamespaceObjectStep,
  rootBundle,
} from './namespace-objects.js';

const bundleNote =
  'Contains a CA bundle that can be used to verify the API of this node. Pods get it with their service account token.';

export function createServiceAccountController(context: ControllerContext, rootCa: string): Controller {
  const { api, caches } = context;
  const namespaces = caches.of(resources.namespaces);
  const accounts = caches.of(resources.serviceAccounts);
  const configMaps = caches.of(resources.configMaps);

  const queue = queueOf(context, { name: 'service account', keys: resources.namespaces, sync });
  accounts.onChange(({ before, after }) => {
    if (after === undefined && before?.metadata.name === defaultAccount) wake(before.metadata.namespace);
  });
  configMaps.onChange(({ before, after }) => {
    const { name, namespace } = (after ?? before)?.metadata ?? {};
    if (name === rootBundle) wake(namespace);
  });
  function wake(namespace: string | undefined): void {
    if (namespace !== undefined) queue.add(keyOf({ name: namespace }));
  }

  async function sync(key: string, signal: AbortSignal): Promise<KeyOutcome> {
    const { name: namespace } = refOfKey(key);
    const steps = decideNamespaceObjects({
      namespace: namespaces.get({ name: namespace }),
      account: accounts.get({ namespace, name: defaultAccount }),
      bundle: configMaps.get({ namespace, name: rootBundle }),
      rootCa,
    });
    for (const step of steps) {
      try {
        await apply(step, namespace, signal);
      } catch (error) {
        // The copy was old, or the namespace is on its way out.
        if (!isAlreadyExists(error) && !isNamespaceTerminating(error)) throw error;
      }
    }
    return {};
  }

  async function apply({ kind }: NamespaceObjectStep, namespace: string, signal: AbortSignal): Promise<void> {
    const metadata = {
      name: rootBundle,
      namespace,
      annotations: { 'kubernetes.io/description': bundleNote },
    };
    const data = { 'ca.crt': rootCa };
    switch (kind) {
      case 'create-account':
        await api.create(
          resources.serviceAccounts,
          { metadata: { name: defaultAccount, namespace } },
          { signal },
        );
        return;
      case 'create-bundle':
        await api.create(resources.configMaps, { metadata, data }, { signal });
        return;
      case 'restore-bundle': {
        const current = configMaps.get({ namespace, name: rootBundle });
        if (current !== undefined) await api.update(resources.configMaps, { ...current, data }, { signal });
        return;
      }
    }
  }

  return { name: 'service account', run: (signal) => queue.run(signal) };
}
