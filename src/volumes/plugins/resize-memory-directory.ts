/** Changes the size of a mounted volume in memory, whose content stays. */
import { type Host, isHostError, mountAt } from '../../host/index.js';

export interface MemoryDirectory {
  /** Of the volume in its pod. */
  readonly name: string;
  readonly path: string;
}

/** The kernel refuses a size below what the volume holds. */
export async function resizeMemoryDirectory(
  host: Host,
  { name, path }: MemoryDirectory,
  sizeBytes: bigint,
  signal?: AbortSignal,
): Promise<void> {
  const mount = await mountAt(host, path);
  if (mount === undefined) throw new Error(`volume ${name} is not yet mounted; deferring resize`);
  if (mount.fsType !== 'tmpfs') throw new Error(`volume ${name} is not in memory, but of ${mount.fsType}`);
  // The kernel takes a remount without it as the wish to swap, which it refuses.
  const noswap = mount.superOptions.includes('noswap') ? ['noswap'] : [];
  try {
    await host.mounts.mount({ target: path, options: ['remount', `size=${sizeBytes}`, ...noswap] }, signal);
  } catch (error) {
    if (!isHostError(error)) throw error;
    const usedBytes = await usedBytesOf(host, path);
    if (usedBytes === undefined || usedBytes <= sizeBytes) throw error;
    throw new Error(`attempting to set its size (${sizeBytes}) below current usage (${usedBytes})`, {
      cause: error,
    });
  }
}

async function usedBytesOf({ ownFiles }: Host, path: string): Promise<bigint | undefined> {
  try {
    const { blockBytes, blocks, freeBlocks } = await ownFiles.statFileSystem(path);
    return BigInt(blockBytes) * BigInt(blocks - freeBlocks);
  } catch (error) {
    if (isHostError(error)) return undefined;
    throw error;
  }
}
