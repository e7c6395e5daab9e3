/** Removes trees of this machine, whichever system it runs. */
import { rm } from 'node:fs/promises';
import { linuxHost } from './linux/linux-host.js';
import { removeTree } from './remove-tree.js';

/**
 * As `removeTree`. Elsewhere than on Linux nothing can be held; the agent is no more than a user there and its pods are the same
 * user, so that a pod that exchanges a directory for a link while it is removed reaches nothing that it could not reach itself.
 */
export async function removeTreeHere(path: string): Promise<void> {
  if (process.platform === 'linux') await removeTree(linuxHost(), path);
  else await rm(path, { recursive: true, force: true });
}
