/** What the cluster says in this node's status of the volumes that it has attached. */
import type { Node } from '../../kube/index.js';
import { type KubeApi, resources } from '../../kube-client/index.js';
import type { VolumeAttachments } from '../../volumes/index.js';

export function nodeAttachments(
  api: Pick<KubeApi, 'get'>,
  name: string,
  known: () => Node | undefined,
): VolumeAttachments {
  let last: { readonly node: Node | undefined; readonly names: ReadonlySet<string> } | undefined;
  return {
    attached: () => {
      const node = known();
      if (last === undefined || last.node !== node) last = { node, names: attachedNames(node) };
      return last.names;
    },
    read: async (signal) => attachedNames(await api.get(resources.nodes, { name }, { signal })),
  };
}

function attachedNames(node: Node | undefined): ReadonlySet<string> {
  return new Set((node?.status?.volumesAttached ?? []).map(({ name }) => name));
}
