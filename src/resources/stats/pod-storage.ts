/** Measures the storage of pods: writable layers, logs and the hosts file. */
import path from 'node:path';
import type { Pod } from '../../kube/index.js';
import type { LogLabels } from '../metrics.js';
import type { DirectoryUsage, Machine } from './machine.js';
import type { PodStorage } from './pod-summary.js';
import type { StatsProviderOptions } from './provider.js';
import type { MeasuredPod } from './stats-set.js';
import type { FsStats } from './summary-types.js';

const nothing: DirectoryUsage = { usedBytes: 0, inodesUsed: 0 };

/** Most containers share one mount point, so each is read once. */
export async function layerFileSystems(
  pods: readonly MeasuredPod[],
  machine: Machine,
): Promise<ReadonlyMap<string, FsStats>> {
  const mountpoints = new Set(
    pods.flatMap(({ containers }) =>
      containers.flatMap(({ stats }) => stats.writableLayer?.fsId?.mountpoint ?? []),
    ),
  );
  const found = new Map<string, FsStats>();
  for (const mountpoint of mountpoints) {
    // A layer that this process cannot see keeps the runtime's numbers.
    const fs = await machine.fileSystem(mountpoint).catch(() => undefined);
    if (fs !== undefined) found.set(mountpoint, fs);
  }
  return found;
}

/** What the log of each running container takes, one after the other. */
export async function* containerLogs(
  machine: Pick<Machine, 'filesIn'>,
  podLogsDir: string,
  pods: readonly Pod[],
): AsyncGenerator<{ readonly labels: LogLabels; readonly usedBytes: number }> {
  for (const { metadata, status } of pods) {
    const { uid, namespace, name } = metadata;
    const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    for (const { name: container, state } of statuses) {
      if (state?.running === undefined) continue;
      const directory = path.join(podLogsDir, `${namespace}_${name}_${uid}`, container);
      // One that cannot be read has no figure; the others do.
      const usage = await machine.filesIn(directory).catch(() => undefined);
      if (usage !== undefined)
        yield { labels: { uid, namespace, pod: name, container }, usedBytes: usage.usedBytes };
    }
  }
}

export async function podStorage(
  { machine, rootDir, podLogsDir, volumesOf }: StatsProviderOptions,
  { namespace, name, uid, containers }: MeasuredPod,
  nodeFs: FsStats,
  fileSystems: ReadonlyMap<string, FsStats>,
): Promise<PodStorage> {
  const directory = path.join(podLogsDir, `${namespace}_${name}_${uid}`);
  const logs = new Map<string, DirectoryUsage>();
  let podLogs = nothing;
  if (podLogsDir !== '') {
    podLogs = await machine.filesIn(directory);
    for (const container of containers) {
      logs.set(container.name, await machine.filesIn(path.join(directory, container.name)));
    }
  }
  // A pod on the host's network has none.
  const hostsFile = await machine.tree(path.join(rootDir, 'pods', uid, 'etc-hosts')).catch(() => nothing);
  return {
    nodeFs,
    layerFs: (mountpoint) => fileSystems.get(mountpoint),
    containerLogs: (container) => logs.get(container) ?? nothing,
    podLogs,
    hostsFile,
    volumes: volumesOf?.(uid),
  };
}
