/** Mounts at a directory made for it, and takes that away again when it fails. */
import { asError } from '../../async/index.js';
import { cleanMountPoint, type Host, isHostError, type MountRequest } from '../../host/index.js';
import { VolumeFailure } from '../contracts.js';

export async function mountOrCleanUp(host: Host, request: MountRequest, signal: AbortSignal): Promise<void> {
  try {
    await host.mounts.mount(request, signal);
  } catch (error) {
    try {
      await cleanMountPoint(host, request.target);
    } catch (cleanUpError) {
      throw new AggregateError([error, cleanUpError], asError(error).message);
    }
    // A command that was given up may still come to its end.
    if (isHostError(error, 'ETIMEDOUT'))
      throw new VolumeFailure('uncertain', error.message, { cause: error });
    throw error;
  }
}
