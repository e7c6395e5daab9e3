/** The link in the flat directory of container logs that log collectors of a node read. */
import { lstatSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { PodMeta } from '../../kube/index.js';
import { isMissing } from '../logs/file-error.js';

/** Leaves room for `.log` and a rotation mark within the 255 bytes of a file name. */
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

/** Links to the log if there is one; runtimes that write none leave nothing to link to. */
export function linkContainerLog(logPath: string, linkPath: string): void {
  if (exists(logPath)) symlinkSync(logPath, linkPath);
}

/** What cannot be told is taken to be there. A link is not followed: it may lead to a server that does not answer. */
function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    return !isMissing(error);
  }
}
