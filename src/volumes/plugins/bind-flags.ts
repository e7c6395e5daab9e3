/** Tells whether a bind of a volume already has the flags that it must have. */
import type { MountPoint } from '../../host/index.js';

/** Options the kernel keeps per bind, which must hold before the bind is visible. */
const bindFlags = ['ro', 'nodev', 'nosuid', 'noexec'];

export function hasBindFlags({ options }: MountPoint, wanted: readonly string[]): boolean {
  return bindFlags.every((flag) => !wanted.includes(flag) || options.includes(flag));
}
