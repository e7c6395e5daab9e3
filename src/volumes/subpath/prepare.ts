/** Prepares a subPath for a container: checks it, creates it if missing, and binds it to its own path. */
import { isCancelled } from '../../async/index.js';
import type { Host } from '../../host/index.js';
import { goQuote } from '../../kube/index.js';
import { hostOfVolume } from '../volume-host.js';
import { bindSubPath } from './bind.js';
import { createSubPath } from './create.js';
import { type SubPathLocation, subPathProblem, subPathTarget } from './subpath-names.js';

export interface SubPathMount extends SubPathLocation {
  readonly host: Host;
  /** The volume's path on the machine. */
  readonly volumePath: string;
  /** From the volumeMount, or expanded from its `subPathExpr`. */
  readonly subPath: string;
  readonly volumeMountName: string;
  readonly signal?: AbortSignal | undefined;
}

/** Why a subPath is unusable; the details are in `cause`, for logs only. */
export class SubPathError extends Error {
  override readonly name = 'SubPathError';
}

/** The host path to mount into the container. Rejects with SubPathError. */
export async function prepareSubPath(mount: SubPathMount): Promise<string> {
  const { volumePath, subPath, signal } = mount;
  const host = hostOfVolume(mount.host, volumePath, mount.podDirectory);
  const problem = subPathProblem(subPath);
  if (problem !== undefined) throw new SubPathError(problem);
  const target = subPathTarget(mount);
  await orFail('failed to create subPath directory', mount, () => createSubPath(host, volumePath, subPath));
  await orFail('failed to prepare subPath', mount, () =>
    bindSubPath({ host, volumePath, subPath, target, signal }),
  );
  return target;
}

async function orFail(failure: string, mount: SubPathMount, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (isCancelled(error)) throw error;
    const place = `volumeMount ${goQuote(mount.volumeMountName)} of container ${goQuote(mount.containerName)}`;
    throw new SubPathError(`${failure} for ${place}`, { cause: error });
  }
}
