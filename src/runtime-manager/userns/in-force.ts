/** Asks the runtime for a pod's user ids, if the file that remembered them is lost. */
import { type CriRuntime, criLabels, NamespaceMode } from '../../cri/index.js';
import type { UserNamespaceMapping } from './id-blocks.js';

/** The mappings of the pod's newest sandbox with a user namespace; undefined when it has none. */
export async function idMappingsInForce(
  cri: Pick<CriRuntime, 'listPodSandbox' | 'podSandboxStatus'>,
  uid: string,
): Promise<UserNamespaceMapping | undefined> {
  const { items } = await cri.listPodSandbox({ filter: { labelSelector: { [criLabels.podUid]: uid } } });
  const newestFirst = [...items].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
  for (const { id } of newestFirst) {
    const { status } = await cri.podSandboxStatus({ podSandboxId: id });
    const options = status?.linux?.namespaces?.options?.usernsOptions;
    if (options?.mode === NamespaceMode.POD) return { uidMappings: options.uids, gidMappings: options.gids };
  }
  return undefined;
}
