/** The machine's mounted file systems and disks, by the names that `/metrics/cadvisor` gives them. */
import type { MountPoint } from '../../host/index.js';
import type { DeviceIo } from './block-io.js';
import { statsLimits } from './limits.js';

export interface MountedFileSystem {
  /** The label: a device, a server's path, or the mount point of what has neither. */
  readonly label: string;
  readonly target: string;
  /** `major:minor` */
  readonly device: string;
}

/** How full one is. */
export interface FilledFileSystem extends MountedFileSystem {
  readonly usedBytes: number;
  readonly capacityBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

const sharedMemory = /\/[0-9a-f]{64}\/(userdata\/)?shm$/;
const shownTypes =
  /^(ext[234]?|xfs|squashfs|f2fs|jfs|reiserfs|hfs|hfsplus|ntfs|ntfs3|vfat|fat|msdos|exfat|udf|iso9660|btrfs|zfs|overlay|tmpfs|nfs.*)$/;

/**
 * Each file system once, those of the machine first: the kernel lists mounts in the order in which they were made.
 * Those below `withoutBelow` are the volumes of pods, which the summary has. An overlay that is not the machine's root
 * is a container's, with the figures of the file system that it lies on. Runtimes make one for the shared memory of each
 * sandbox, too.
 */
export function shownFileSystems(mounts: readonly MountPoint[], withoutBelow: string): MountedFileSystem[] {
  const found = new Map<string, MountedFileSystem>();
  for (const { target, source, fsType, device } of mounts) {
    if (found.size === statsLimits.fileSystems) break;
    if (!shownTypes.test(fsType) || target.startsWith(`${withoutBelow}/`)) continue;
    if ((fsType === 'overlay' && target !== '/') || sharedMemory.test(target)) continue;
    const label =
      fsType === 'tmpfs' ? target : fsType === 'overlay' ? `overlay_${device.replace(':', '-')}` : source;
    if (!found.has(label)) found.set(label, { label, target, device });
  }
  return [...found.values()];
}

/** How full they are is in the kernel's memory. */
const neverHangs =
  /^(ext[234]?|xfs|squashfs|f2fs|jfs|reiserfs|hfs|hfsplus|ntfs3|vfat|msdos|exfat|udf|iso9660|btrfs|zfs|overlay|tmpfs|ramfs|rootfs|devtmpfs|proc|sysfs|cgroup2?)$/;

/** Whether a server or a program answers for the path, or for a part of it. */
export function mayHang(mounts: readonly MountPoint[], path: string): boolean {
  return mounts.some(
    ({ target, fsType }) =>
      !neverHangs.test(fsType) &&
      (target === '/' || target === path || (path.startsWith(target) && path[target.length] === '/')),
  );
}

/** Counters of one disk or partition, in the order of the kernel's columns. */
export interface DiskCounters {
  readonly name: string;
  readonly reads: number;
  readonly readsMerged: number;
  readonly sectorsRead: number;
  readonly readMs: number;
  readonly writes: number;
  readonly writesMerged: number;
  readonly sectorsWritten: number;
  readonly writeMs: number;
  readonly inProgress: number;
  readonly ioMs: number;
  readonly weightedIoMs: number;
}

/** `/proc/diskstats` by `major:minor`. */
export function diskCounters(text: string): ReadonlyMap<string, DiskCounters> {
  const found = new Map<string, DiskCounters>();
  for (const line of text.split('\n')) {
    const [major, minor, name, ...rest] = line.trim().split(/\s+/);
    if (name === undefined || rest.length < 11) continue;
    const [
      reads = 0,
      readsMerged = 0,
      sectorsRead = 0,
      readMs = 0,
      writes = 0,
      writesMerged = 0,
      sectorsWritten = 0,
      writeMs = 0,
      inProgress = 0,
      ioMs = 0,
      weightedIoMs = 0,
    ] = rest.map((column) => Number(column) || 0);
    found.set(`${major}:${minor}`, {
      name,
      reads,
      readsMerged,
      sectorsRead,
      readMs,
      writes,
      writesMerged,
      sectorsWritten,
      writeMs,
      inProgress,
      ioMs,
      weightedIoMs,
    });
  }
  return found;
}

/** The names of block devices; `mounted` are those that a file system is on, by `major:minor`. */
export function deviceNames(
  disks: ReadonlyMap<string, DiskCounters>,
  mounted: ReadonlyMap<string, string>,
): (device: Pick<DeviceIo, 'major' | 'minor'>) => string {
  return ({ major, minor }) => {
    const numbers = `${major}:${minor}`;
    const name = disks.get(numbers)?.name;
    return mounted.get(numbers) ?? (name === undefined ? '' : `/dev/${name}`);
  };
}
