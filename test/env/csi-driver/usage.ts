/** How full a volume is, in the words of the storage interface. */
import { statfs } from 'node:fs/promises';
import { type VolumeUsage, VolumeUsage_Unit } from '../../../src/volumes/csi/gen/csi.js';

export async function fileSystemUsage(mountPoint: string): Promise<VolumeUsage[]> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(mountPoint);
  return [
    {
      unit: VolumeUsage_Unit.BYTES,
      total: blocks * bsize,
      available: bavail * bsize,
      used: (blocks - bavail) * bsize,
    },
    { unit: VolumeUsage_Unit.INODES, total: files, available: ffree, used: files - ffree },
  ];
}

/** Of a device, only the size is known. */
export function deviceUsage(capacityBytes: number): VolumeUsage[] {
  return [{ unit: VolumeUsage_Unit.BYTES, total: capacityBytes, available: 0, used: 0 }];
}
