/** The paths of a pod's volumes and their markers below the root directory. */
import { join } from 'node:path/posix';
import { escapePluginName } from '../manager/states.js';

export function podDirectory(rootDir: string, podUid: string): string {
  return join(rootDir, 'pods', podUid);
}

/** `<root>/pods/<uid>/volumes/kubernetes.io~empty-dir/<name>` */
export function podVolumeDirectory(
  rootDir: string,
  podUid: string,
  pluginName: string,
  innerName: string,
): string {
  return join(podDirectory(rootDir, podUid), 'volumes', escapePluginName(pluginName), innerName);
}

/** Where plugins keep notes on a pod's volumes: `<root>/pods/<uid>/plugins/kubernetes.io~empty-dir/<name>`. */
export function podPluginDirectory(
  rootDir: string,
  podUid: string,
  pluginName: string,
  name: string,
): string {
  return join(podDirectory(rootDir, podUid), 'plugins', escapePluginName(pluginName), name);
}
