/** Knows what is mounted below a directory and takes it off before the directory is removed, never removing through a mount. */
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { CommandError, runCommand } from './command.js';

export interface Mount {
  readonly mountPoint: string;
  readonly fsType: string;
  /** Mounts and unmounts below it are seen by its peers, as volumes with mount propagation want. */
  readonly shared: boolean;
}

const mountPointsPerCommand = 100;

export function parseMountInfo(text: string): Mount[] {
  const mounts: Mount[] = [];
  for (const line of text.split('\n')) {
    const fields = line.split(' ');
    const separator = fields.indexOf('-', 6);
    const mountPoint = fields[4];
    const fsType = fields[separator + 1];
    if (separator === -1 || mountPoint === undefined || fsType === undefined) {
      continue;
    }
    const shared = fields.slice(6, separator).some((tag) => tag.startsWith('shared:'));
    mounts.push({ mountPoint: unescapeMountPath(mountPoint), fsType, shared });
  }
  return mounts;
}

/** The kernel writes blanks and backslashes of paths as three octal digits. */
function unescapeMountPath(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

export function listMounts(): Mount[] {
  return parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
}

/** Mounts on or below `directory`, in the order in which they were made. */
export function mountsBelow(directory: string): Mount[] {
  return listMounts().filter(
    ({ mountPoint }) => mountPoint === directory || mountPoint.startsWith(`${directory}/`),
  );
}

/** Takes off all mounts on and below `directory`; processes that still use one keep it until they end. */
export async function unmountBelow(directory: string): Promise<void> {
  let before = Number.POSITIVE_INFINITY;
  let failure: CommandError | undefined;
  for (;;) {
    const mountPoints = mountsBelow(directory).map(({ mountPoint }) => mountPoint);
    if (mountPoints.length === 0) {
      return;
    }
    if (mountPoints.length >= before) {
      throw new Error(`still mounted below ${directory}: ${mountPoints.join(', ')}`, { cause: failure });
    }
    before = mountPoints.length;
    const latestFirst = mountPoints.reverse().slice(0, mountPointsPerCommand);
    try {
      await runCommand('umount', ['--lazy', '--no-mtab', ...latestFirst]);
    } catch (error) {
      // What counts is what is still mounted: a mount may have gone with the one that held it.
      if (!(error instanceof CommandError)) {
        throw error;
      }
      failure = error;
    }
  }
}

/** Removes a directory with all that is in it and leaves alone what was mounted into it. */
export async function removeTree(directory: string): Promise<void> {
  if (existsSync(directory)) {
    await unmountBelow(directory);
    await rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}
