/** Asks a driver for the health of one of its volumes. */
import { join } from 'node:path/posix';
import type { VolumeHealthCondition } from '../../kube/index.js';
import { type VolumeSpec, volumeModeOf } from '../contracts.js';
import { innerNameOf } from '../plugins/inner-name.js';
import { blockPlaces } from './block-names.js';
import { type CsiClientOptions, csiStep } from './client.js';
import { volumeConditions } from './health-decision.js';
import { type DriverVolume, stagedMount, stagingDirectory } from './names.js';

export interface VolumeHealthQuestion {
  readonly client: CsiClientOptions;
  readonly rootDir: string;
  readonly volume: DriverVolume;
  readonly spec: VolumeSpec;
  readonly podUid: string;
  /** Where a volume of mode Filesystem is published. */
  readonly target: string;
}

/** Undefined if the driver does not tell. */
export async function askVolumeHealth(
  { client, rootDir, volume, spec, podUid, target }: VolumeHealthQuestion,
  signal: AbortSignal,
): Promise<readonly VolumeHealthCondition[] | undefined> {
  const step = csiStep(client, volume.driver, signal, spec);
  if (!(await step.capabilities()).has('GET_VOLUME_HEALTH')) return undefined;
  const places = blockPlaces(rootDir, innerNameOf(spec));
  const isBlock = volumeModeOf(spec) === 'Block';
  return volumeConditions(
    await step.volumeHealth({
      volumeId: volume.handle,
      volumePublishPath: isBlock ? join(places.publish, podUid) : target,
      stagingTargetPath: isBlock ? places.staging : join(stagingDirectory(rootDir, volume), stagedMount),
    }),
  );
}
