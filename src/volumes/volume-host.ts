/** Decides which volumes use the host apart, because their file system may not respond. */
import { type Host, hostApart } from '../host/index.js';

/** Directories of plugins whose volumes lie on the node's own disk or in memory. All others may be anywhere. */
const ownDirectories: ReadonlySet<string> = new Set([
  'kubernetes.io~empty-dir',
  'kubernetes.io~configmap',
  'kubernetes.io~secret',
  'kubernetes.io~projected',
  'kubernetes.io~downward-api',
]);

/** Whether a volume lies on the node itself, by its path: `…/pods/<uid>/volumes/<plugin>/<name>`. */
export function liesOnNode(volumePath: string, podDirectory: string): boolean {
  const prefix = `${podDirectory}/volumes/`;
  if (!volumePath.startsWith(prefix)) return false;
  const [plugin = '', name = ''] = volumePath.slice(prefix.length).split('/');
  return ownDirectories.has(plugin) && name !== '' && name !== '..';
}

/** The host for work on a volume. */
export function hostOfVolume(host: Host, volumePath: string, podDirectory: string): Host {
  return liesOnNode(volumePath, podDirectory) ? host : hostApart(host, volumePath);
}
