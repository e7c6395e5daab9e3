/** How the node's disks are divided: whether images, and the containers' own files, lie apart from what pods keep. */
import type { FsStats } from '../stats/index.js';

export interface FileSystemLayout {
  /** Images have a file system of their own. */
  readonly dedicated: boolean;
  /** The files of containers lie apart from their images. */
  readonly split: boolean;
}

/** What the runtime and the kernel say of the file systems. */
export interface FileSystemFigures {
  readonly rootDevice: bigint;
  readonly imageDevice: bigint;
  /** Undefined where the runtime does not tell images and containers apart. */
  readonly containerDevice: bigint | undefined;
  readonly imageFs: FsStats;
  readonly containerFs: FsStats;
}

const compared = ['availableBytes', 'capacityBytes', 'inodesFree', 'inodes', 'inodesUsed'] as const;

export function decideLayout(figures: FileSystemFigures, separatesDisks = true): FileSystemLayout {
  const { rootDevice, imageDevice, containerDevice, imageFs, containerFs } = figures;
  if (!separatesDisks) return { dedicated: imageDevice !== rootDevice, split: false };
  const differs = compared.some((name) => imageFs[name] !== containerFs[name]);
  return {
    dedicated: imageDevice !== rootDevice || differs,
    split: containerDevice !== undefined && containerDevice !== imageDevice,
  };
}
