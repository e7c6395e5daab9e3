/** What a storage driver mounts, and how it finds what an earlier life of its process has mounted. */
import { runCommand } from '../command.js';
import { listMounts } from '../mounts.js';

export function isMounted(target: string): boolean {
  return listMounts().some(({ mountPoint }) => mountPoint === target);
}

export async function mountFileSystem(
  device: string,
  target: string,
  { fsType, flags }: { readonly fsType: string; readonly flags: readonly string[] },
): Promise<void> {
  // Two volumes may have one identity: a copy of an image has that of the original, which xfs refuses.
  const options = [...flags, ...(fsType === 'xfs' ? ['nouuid'] : [])];
  const words = options.length === 0 ? [] : ['-o', options.join(',')];
  await runCommand('mount', ['-t', fsType, ...words, device, target]);
}

export async function bindMount(source: string, target: string, isReadOnly: boolean): Promise<void> {
  await runCommand('mount', ['-o', isReadOnly ? 'bind,ro' : 'bind', source, target]);
}

/** Also when it is mounted several times over, or not at all. */
export async function unmount(target: string): Promise<void> {
  while (isMounted(target)) await runCommand('umount', [target]);
}
