/** Asks a driver how full a volume is. */
import { VolumeFailure, type VolumeFigures } from '../contracts.js';
import { type CsiClientOptions, csiStep } from './client.js';
import { type NodeGetVolumeStatsResponse, VolumeUsage_Unit as Unit } from './gen/csi.js';
import type { DriverVolume } from './names.js';

/** Undefined if the driver does not tell. */
export async function measureVolume(
  client: CsiClientOptions,
  { driver, handle }: DriverVolume,
  path: string,
  signal: AbortSignal,
): Promise<VolumeFigures | undefined> {
  const step = csiStep(client, driver, signal);
  if (!(await step.capabilities()).has('GET_VOLUME_STATS')) return undefined;
  return figuresOf(await step.stats({ volumeId: handle, volumePath: path }));
}

/** A unit that is not reported is zero. */
export function figuresOf({ usage }: NodeGetVolumeStatsResponse): VolumeFigures {
  if (usage.length === 0) {
    throw new VolumeFailure('transient', 'failed to get usage from response. usage is nil');
  }
  const of = (unit: Unit) => usage.find((one) => one.unit === unit);
  const number = (value: number | undefined): number => Math.max(0, value ?? 0);
  const [bytes, inodes] = [of(Unit.BYTES), of(Unit.INODES)];
  return {
    capacityBytes: number(bytes?.total),
    availableBytes: number(bytes?.available),
    usedBytes: number(bytes?.used),
    inodes: number(inodes?.total),
    inodesFree: number(inodes?.available),
    inodesUsed: number(inodes?.used),
  };
}
