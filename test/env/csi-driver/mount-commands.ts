/** What a storage driver mounts, and how it finds what an earlier life of its process has mounted. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
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

/** Where a device is mounted, with what is in it or itself. */
export function mountPointsOf(device: string): string[] {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  return lines.flatMap((line) => {
    const [, , , root, mountPoint, ...rest] = line.split(' ');
    const source = rest[rest.indexOf('-') + 2];
    const isOfDevice = source === device || (source === 'devtmpfs' && root === `/${path.basename(device)}`);
    return isOfDevice && mountPoint !== undefined ? [mountPoint] : [];
  });
}
