/** Stages volumes: a driver mounts one once on the node, for all pods that use it. */
import { join } from 'node:path/posix';
import { errorText } from '../../async/index.js';
import { type Host, isMountPoint, mountAt, namesIn } from '../../host/index.js';
import { goQuote } from '../../kube/index.js';
import {
  type DeviceRemains,
  type DevicesLeft,
  type UnknownDevice,
  VolumeFailure,
  type VolumeSpec,
} from '../contracts.js';
import { publishContext } from './attach.js';
import { type CsiClientOptions, type CsiNodeClient, csiStep } from './client.js';
import { callFailure, prefixed, transient } from './failures.js';
import {
  type DriverVolume,
  deviceName,
  isDriverName,
  parseDeviceName,
  stagedMount,
  stagingDirectory,
  stagingRoot,
} from './names.js';
import type { CsiVolumesOptions } from './plugin.js';
import { attributesOf, volumeCapability } from './requests.js';
import { readSecret } from './secrets.js';
import {
  labelData,
  type RemovedMount,
  readVolData,
  removeMountDirectory,
  volDataName,
  writeVolData,
} from './vol-data.js';

const prefix = 'kubernetes.io/csi: ';
const directoryMode = 0o750;

export interface StageRequest {
  readonly spec: VolumeSpec;
  readonly fsGroup: number | undefined;
  readonly seLinuxLabel?: string | undefined;
  readonly signal: AbortSignal;
}

/** Rejects with a VolumeFailure, whose class says whether the driver may still stage it. */
export async function stageVolume(
  options: CsiVolumesOptions & { readonly volume: DriverVolume },
  { spec, fsGroup, seLinuxLabel, signal }: StageRequest,
): Promise<void> {
  const { host, rootDir, client, volume } = options;
  const directory = stagingDirectory(rootDir, volume);
  const target = join(directory, stagedMount);
  const driver = stepWith(client, volume.driver, signal, spec);
  const capabilities = await driver.capabilities().catch((error: unknown) => {
    throw callFailure(error);
  });
  if (!capabilities.has('STAGE_UNSTAGE_VOLUME')) {
    await makeDirectory(host, target);
    return;
  }
  const context = await publishContext(options, volume, signal);
  const reference =
    spec.kind === 'persistent' ? spec.persistentVolume.spec.csi?.nodeStageSecretRef : undefined;
  const secrets =
    reference === undefined ? {} : await readSecret(options, 'NodeStageSecretRef', reference, signal);
  await makeDirectory(host, target);
  try {
    const { driver: driverName, handle: volumeHandle } = volume;
    await writeVolData(host, directory, { driverName, volumeHandle, ...labelData(seLinuxLabel) });
  } catch (error) {
    await removeMountDirectory(host, directory, stagedMount, mounted(host)).catch(() => {});
    throw new VolumeFailure('final', `${prefix}failed to save volume info data: ${errorText(error)}`);
  }
  try {
    await driver.stage({
      volumeId: volume.handle,
      publishContext: { ...context },
      stagingTargetPath: target,
      volumeCapability: volumeCapability(spec, capabilities, fsGroup, seLinuxLabel),
      secrets: { ...secrets },
      volumeContext: { ...attributesOf(spec) },
    });
  } catch (error) {
    const failure = callFailure(error);
    if (failure.failureClass !== 'final') throw failure;
    const left = await removeMountDirectory(host, directory, stagedMount, mounted(host)).catch(
      (): RemovedMount => 'still mounted',
    );
    // What is mounted in spite of the failure stays with its metadata, and is unstaged later.
    throw left === 'removed' ? failure : new VolumeFailure('uncertain', failure.message, { cause: failure });
  }
}

function stepWith(
  client: CsiClientOptions,
  driver: string,
  signal: AbortSignal,
  spec: VolumeSpec,
): CsiNodeClient {
  try {
    return csiStep(client, driver, signal, spec);
  } catch (error) {
    throw prefixed(`${prefix}attacher.MountDevice failed to create newCsiDriverClient: `, error);
  }
}

async function makeDirectory({ files }: Host, path: string): Promise<void> {
  try {
    await files.mkdir(path, { recursive: true, mode: directoryMode });
  } catch (error) {
    throw new VolumeFailure(
      'final',
      `${prefix}attacher.MountDevice failed to create dir ${goQuote(path)}:  ${errorText(error)}`,
    );
  }
}

/** Nothing may use the volume any more. Without metadata nothing was staged. */
export async function unstageVolume(
  { host, rootDir, client }: CsiVolumesOptions,
  { uniqueName }: DeviceRemains,
): Promise<void> {
  const volume = parseDeviceName(uniqueName);
  if (volume === undefined) throw new Error(`${uniqueName} is no name of a CSI volume`);
  const directory = stagingDirectory(rootDir, volume);
  const target = join(directory, stagedMount);
  await refuseWhileReferenced(host, target);
  const data = await readVolData(host, directory);
  if (data === undefined) {
    // A driver that does not stage leaves an empty directory.
    await removeMountDirectory(host, directory, stagedMount, mounted(host));
    return;
  }
  const { driverName, volumeHandle } = data;
  try {
    const driver = csiStep(client, driverName);
    if ((await driver.capabilities()).has('STAGE_UNSTAGE_VOLUME')) {
      await driver.unstage({ volumeId: volumeHandle, stagingTargetPath: target });
    }
  } catch (error) {
    throw transient(`${prefix}attacher.UnmountDevice failed: `, error);
  }
  await removeMountDirectory(host, directory, stagedMount, mounted(host)).catch((error: unknown) => {
    throw new Error(`${prefix}failed to clean up global mount ${target}: ${errorText(error)}`, {
      cause: error,
    });
  });
}

/** A bind of the same file system elsewhere may be in use by someone whom this node does not know. */
async function refuseWhileReferenced(host: Host, target: string): Promise<void> {
  const staged = await mountAt(host, target);
  if (staged === undefined) return;
  const others = (await host.mounts.list()).filter(
    (mount) => mount.device === staged.device && mount.root === staged.root && mount.target !== staged.target,
  );
  if (others.length === 0) return;
  const names = others.map((mount) => mount.target).join(' ');
  throw new Error(
    `GetDeviceMountRefs check failed for volume ${goQuote(target)} : the device mount path ${goQuote(target)} is still mounted by other references [${names}]`,
  );
}

/** Volumes that an earlier run staged, also those that no pod has a directory for. */
export async function stagedRemains(host: Host, rootDir: string): Promise<DevicesLeft> {
  const devices: DeviceRemains[] = [];
  const unknown: UnknownDevice[] = [];
  const root = stagingRoot(rootDir);
  for (const driver of await namesIn(host, root)) {
    if (!isDriverName(driver) || driver === 'volumeDevices') continue;
    for (const name of await namesIn(host, join(root, driver))) {
      const path = join(root, driver, name);
      try {
        const volume = await stagedVolume(host, path);
        if (volume === undefined) continue;
        if (stagingDirectory(rootDir, volume) !== path) {
          throw new Error(`its ${volDataName} is about another volume`);
        }
        const { handle, seLinuxLabel } = volume;
        devices.push({ uniqueName: deviceName(volume), innerName: handle, seLinuxLabel });
      } catch (error) {
        unknown.push({ path, problem: errorText(error) });
      }
    }
  }
  return { devices, unknown };
}

/** Undefined if nothing was staged there; then nothing is left of it. */
async function stagedVolume(
  host: Host,
  path: string,
): Promise<(DriverVolume & Pick<DeviceRemains, 'seLinuxLabel'>) | undefined> {
  const data = await readVolData(host, path);
  if (data !== undefined) {
    const { driverName: driver, volumeHandle: handle, seLinuxMountContext: seLinuxLabel } = data;
    return { driver, handle, seLinuxLabel };
  }
  if ((await removeMountDirectory(host, path, stagedMount, mounted(host))) === 'removed') return undefined;
  throw new Error(`${stagedMount} is mounted, but has no ${volDataName}`);
}

export const mounted =
  (host: Host) =>
  (path: string): Promise<boolean> =>
    isMountPoint(host, path);
