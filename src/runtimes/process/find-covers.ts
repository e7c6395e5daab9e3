/** Finds the directories closed to a container's user. Runs in the agent; supervisors need no host. */
import { basename, dirname, join } from 'node:path';
import { type HostFiles, isMissing, linuxHost } from '../../host/index.js';
import {
  type Cover,
  type DirectoryAccess,
  directoriesAbove,
  mayPass,
  planCovers,
  type User,
} from './covers.js';

/** The covers that a user needs to reach these paths; missing paths will be created open to all. */
export async function findCovers(paths: readonly string[], user: User): Promise<Cover[]> {
  const access = new Map<string, DirectoryAccess>();
  const reals: string[] = [];
  for (const path of paths) {
    // A mount may be on anything, even on a server that does not respond.
    const { files } = linuxHost().apart(path);
    const { real, existing } = await realPath(files, path);
    reals.push(real);
    for (const directory of directoriesAbove(join(existing, 'x'))) {
      if (!access.has(directory)) access.set(directory, await files.stat(directory));
    }
  }
  return planCovers(reals, (directory) => {
    const found = access.get(directory);
    return found !== undefined && !mayPass(user, found);
  });
}

/** Resolves the links of the path's existing part, and returns that part. */
async function realPath(
  files: HostFiles,
  path: string,
): Promise<{ readonly real: string; readonly existing: string }> {
  try {
    const real = await files.realpath(path);
    return { real, existing: real };
  } catch (error) {
    if (!isMissing(error)) throw error;
    const { real, existing } = await realPath(files, dirname(path));
    return { real: join(real, basename(path)), existing };
  }
}
