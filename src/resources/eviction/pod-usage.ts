/** What a pod uses of the resource that the node is short of. */
import type { EvictionSignal, Pod, Volume } from '../../kube/index.js';
import type { FsStats, PodStatsSummary } from '../stats/index.js';
import type { FileSystemLayout } from './layout.js';

/** Undefined for a pod that was not measured. */
export type StatsOfPod = (uid: string) => PodStatsSummary | undefined;

export function statsByUid(measured: readonly PodStatsSummary[]): StatsOfPod {
  const byUid = new Map(measured.map((stats) => [stats.podRef.uid, stats]));
  return (uid) => byUid.get(uid);
}

/** Places in which a pod takes up disk space. */
export type DiskPart = 'rootfs' | 'logs' | 'volumes';

/** Which of them lie on the file system of the signal. */
export function diskParts(
  signal: EvictionSignal,
  { dedicated, split }: FileSystemLayout,
): readonly DiskPart[] {
  if (!dedicated) return ['rootfs', 'logs', 'volumes'];
  const isOfImages = signal.startsWith('imagefs.');
  if (split) return isOfImages ? [] : ['logs', 'volumes', 'rootfs'];
  return isOfImages || signal.startsWith('containerfs.') ? ['rootfs'] : ['logs', 'volumes'];
}

/** Bytes, or inodes for a signal of inodes. */
export function diskUsage(
  pod: Pod,
  stats: PodStatsSummary,
  parts: readonly DiskPart[],
  unit: 'bytes' | 'inodes',
): number {
  const amount = (fs: FsStats | undefined): number =>
    (unit === 'bytes' ? fs?.usedBytes : fs?.inodesUsed) ?? 0;
  let total = 0;
  for (const { rootfs, logs } of stats.containers) {
    if (parts.includes('rootfs')) total += amount(rootfs);
    if (parts.includes('logs')) total += amount(logs);
  }
  if (parts.includes('volumes')) {
    const local = new Set((pod.spec.volumes ?? []).filter(isLocal).map(({ name }) => name));
    for (const volume of stats.volume ?? []) if (local.has(volume.name)) total += amount(volume);
  }
  return total;
}

/** Volumes that take space on the node's own disk. */
function isLocal({ emptyDir, configMap, hostPath, gitRepo }: Volume): boolean {
  const isOnDisk = emptyDir !== undefined && (emptyDir.medium ?? '') === '';
  return isOnDisk || configMap !== undefined || hostPath !== undefined || gitRepo !== undefined;
}
