/** Removes trees on this machine, whatever its operating system. */
import { rm } from 'node:fs/promises';
import { linuxHost } from './linux/linux-host.js';
import { removeTree } from './remove-tree.js';

/**
 * Like `removeTree`. Only Linux can hold paths. Elsewhere the agent and its pods run as the same plain user,
 * so a pod that swaps a directory for a link during removal reaches nothing new.
 */
export async function removeTreeHere(path: string): Promise<void> {
  if (process.platform === 'linux') await removeTree(linuxHost(), path);
  else await rm(path, { recursive: true, force: true });
}
