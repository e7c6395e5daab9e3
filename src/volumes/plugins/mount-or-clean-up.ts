/** Mounts at a new directory, and removes the directory if the mount fails. */
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
    // An abandoned command may still complete.
    if (isHostError(error, 'ETIMEDOUT'))
      throw new VolumeFailure('uncertain', error.message, { cause: error });
    throw error;
  }
}
