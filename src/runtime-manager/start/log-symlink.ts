/** Links a container log into the flat directory that the node's log collectors read. */
import { lstatSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { PodMeta } from '../../kube/index.js';
import { isMissing } from '../logs/file-error.js';

/** A file name has at most 255 bytes, of which `.log` takes four. */
const longestBaseName = 251;

export function logSymlinkPath(
  containerLogsDir: string,
  { name, namespace }: Pick<PodMeta, 'name' | 'namespace'>,
  containerName: string,
  containerId: string,
): string {
  const baseName = `${name}_${namespace}_${containerName}-${containerId}`;
  return join(containerLogsDir, `${baseName.slice(0, longestBaseName)}.log`);
}

/** Links to the log if it exists; some runtimes write none. */
export function linkContainerLog(logPath: string, linkPath: string): void {
  if (exists(logPath)) symlinkSync(logPath, linkPath);
}

/** True when the path cannot be read. Does not follow links, as the target may be on a server that does not respond. */
function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    return !isMissing(error);
  }
}
