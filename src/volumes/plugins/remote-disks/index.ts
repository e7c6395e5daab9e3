/** Volumes on disks of storage networks: iSCSI and Fibre Channel. */
import type { VolumePlugin } from '../../contracts.js';
import { fcNetwork } from './fc-network.js';
import { iscsiNetwork } from './iscsi-network.js';
import { remoteDiskVolumes } from './remote-disk-volumes.js';
import type { RemoteDiskOptions } from './remote-disks.js';

export type { ReadDiskSecret, RemoteDiskOptions } from './remote-disks.js';

export function iscsiVolumes(options: RemoteDiskOptions): VolumePlugin {
  return remoteDiskVolumes(options, iscsiNetwork({ ...options, run: options.runDiskTool }));
}

export function fcVolumes(options: RemoteDiskOptions): VolumePlugin {
  return remoteDiskVolumes(options, fcNetwork({ ...options, run: options.runDiskTool }));
}
