/** Tells the pod resources API of the devices of plugins: which each container has, and which there are. */
import type { DeviceManager } from '../../resources/device-manager/index.js';
import type { ListedDevice } from '../../resources/pod-resources/index.js';
import type { DeviceProvider } from './create-pod-resources.js';

export function deviceProvider(manager: Pick<DeviceManager, 'ofContainer' | 'resources'>): DeviceProvider {
  return {
    devicesOf: (podUid, container) =>
      manager
        .ofContainer(podUid, container)
        .flatMap(([resource, { idsByNode }]) => listed(resource, idsByNode)),
    allocatable: () =>
      manager.resources().flatMap(([resource, { table, healthy }]) =>
        [...healthy].sort().map((id): ListedDevice => {
          const numaNodes = table.get(id)?.numaNodes;
          return { resourceName: resource, id, numaNodes };
        }),
      ),
  };
}

/** A node below zero stands for none. */
function listed(
  resource: string,
  idsByNode: ReadonlyMap<number, readonly string[]>,
): readonly ListedDevice[] {
  const nodes = new Map<string, number[]>();
  for (const [node, ids] of idsByNode) {
    for (const id of ids) nodes.set(id, [...(nodes.get(id) ?? []), ...(node < 0 ? [] : [node])]);
  }
  return [...nodes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, numaNodes]) => ({ resourceName: resource, id, numaNodes }));
}
