/** The Node service on plain directories: a volume is there as soon as it is named, staged and published by bind mounts. */
import { mkdir, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { linuxHost, mountAt } from '../../../src/host/index.js';
import type {
  NodeGetVolumeStatsRequest,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  NodeUnpublishVolumeRequest,
  NodeUnstageVolumeRequest,
} from '../../../src/volumes/csi/gen/csi.js';
import { fileSystemUsage } from './usage.js';

/** Where a volume's content is. */
export async function directoryOf(dataDir: string, volumeId: string): Promise<string> {
  const dir = path.join(dataDir, volumeId);
  await mkdir(dir, { recursive: true });
  return dir;
}

export function directoryNodeService(dataDir: string): object {
  const host = linuxHost();
  const bind = async (source: string, target: string, options: readonly string[]): Promise<void> => {
    if ((await mountAt(host, target)) !== undefined) return;
    await host.mounts.mount({ source, target, options: ['bind', ...options] });
  };
  const unbind = async (target: string): Promise<void> => {
    const isThere = await stat(target).then(
      () => true,
      () => false,
    );
    if (isThere) await host.mounts.unmount(target);
  };
  return {
    nodeStageVolume: async ({ volumeId, stagingTargetPath }: NodeStageVolumeRequest) => {
      await bind(await directoryOf(dataDir, volumeId), stagingTargetPath, []);
      return {};
    },
    nodeUnstageVolume: async ({ stagingTargetPath }: NodeUnstageVolumeRequest) => {
      await unbind(stagingTargetPath);
      return {};
    },
    nodePublishVolume: async (request: NodePublishVolumeRequest) => {
      const { volumeId, stagingTargetPath, targetPath, readonly } = request;
      const source = stagingTargetPath === '' ? await directoryOf(dataDir, volumeId) : stagingTargetPath;
      await mkdir(targetPath, { recursive: true });
      await bind(source, targetPath, readonly ? ['ro'] : []);
      return {};
    },
    nodeUnpublishVolume: async ({ targetPath }: NodeUnpublishVolumeRequest) => {
      await unbind(targetPath);
      await rmdir(targetPath).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
      return {};
    },
    nodeGetVolumeStats: async ({ volumePath }: NodeGetVolumeStatsRequest) => ({
      usage: await fileSystemUsage(volumePath),
    }),
  };
}
