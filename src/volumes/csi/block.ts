/** CSI volumes of mode Block: drivers stage and publish a device, which the manager binds for each pod. */
import { join } from 'node:path/posix';
import { errorText } from '../../async/index.js';
import { exists, type Host, isMissing, mountAt, namesIn, removeTree } from '../../host/index.js';
import { goQuote } from '../../kube/index.js';
import {
  type BlockVolumes,
  type DeviceRemains,
  type DevicesLeft,
  type SetUpRequest,
  type UnknownDevice,
  VolumeFailure,
  type VolumeRemains,
  type VolumeSpec,
} from '../contracts.js';
import { innerNameOf } from '../plugins/inner-name.js';
import { publishContext } from './attach.js';
import { blockPlaces, blockRoot, isBlockVolumeName } from './block-names.js';
import { type CsiNodeClient, csiStep } from './client.js';
import { callFailure, prefixed, transient } from './failures.js';
import { attachmentName, csiVolumeOf, type DriverVolume, deviceName, isDriverName } from './names.js';
import type { CsiVolumesOptions } from './plugin.js';
import { attributesOf, isReadOnly, podInfo, volumeCapability } from './requests.js';
import { readSecret } from './secrets.js';
import { readVolData, type VolData, writeVolData } from './vol-data.js';

const prefix = 'kubernetes.io/csi: ';
const directoryMode = 0o750;

export function csiBlockVolumes(options: CsiVolumesOptions): BlockVolumes {
  const { rootDir } = options;
  return {
    prepare: (spec) => prepare(options, spec),
    setUpDevice: (spec, signal) => stageDevice(options, spec, signal),
    mapPodDevice: (request) => publishDevice(options, request),
    unmapPodDevice: (remains) => unpublishDevice(options, remains),
    tearDownDevice: (device) => unstageDevice(options, device),
    mapDirectory: (innerName) => blockPlaces(rootDir, innerName).map,
    async identify({ innerName }) {
      return { uniqueName: deviceName(await volumeOnDisk(options, innerName)) };
    },
    remains: () => blockRemains(options),
  };
}

async function prepare({ host, rootDir, nodeName }: CsiVolumesOptions, spec: VolumeSpec): Promise<void> {
  const volume = checkedVolume(spec);
  const name = innerNameOf(spec);
  const { data } = blockPlaces(rootDir, name);
  await host.files.mkdir(data, { recursive: true, mode: directoryMode });
  await writeVolData(host, data, {
    attachmentID: attachmentName(volume, nodeName),
    driverName: volume.driver,
    nodeName,
    specVolID: name,
    volumeHandle: volume.handle,
  });
}

function checkedVolume(spec: VolumeSpec): DriverVolume {
  const volume = csiVolumeOf(spec, '');
  if (!isDriverName(volume.driver)) {
    throw new VolumeFailure('final', `csi.driver ${goQuote(volume.driver)} is no name of a CSI driver`);
  }
  const name = innerNameOf(spec);
  if (isBlockVolumeName(name)) return volume;
  throw new VolumeFailure('final', `a PersistentVolume named ${goQuote(name)} cannot have volumeMode Block`);
}

/** Rejects with a VolumeFailure, whose class says whether the driver may still stage it. */
async function stageDevice(options: CsiVolumesOptions, spec: VolumeSpec, signal: AbortSignal): Promise<void> {
  const { host, rootDir } = options;
  const volume = checkedVolume(spec);
  const { staging } = blockPlaces(rootDir, innerNameOf(spec));
  const driver = stepWith(options, volume.driver, 'blockMapper.SetUpDevice', signal);
  const capabilities = await driver.capabilities().catch((error: unknown) => {
    const text = 'blockMapper.stageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME capability: ';
    throw transient(`${prefix}${text}`, error);
  });
  if (!capabilities.has('STAGE_UNSTAGE_VOLUME')) return;
  const context = await publishContext(options, volume, signal);
  const secrets = await secretsOf(options, spec, 'NodeStageSecretRef', signal);
  // An earlier attempt may have staged it, whatever this one says.
  const isFirst = !(await exists(host.files, staging));
  await makeDirectory(host, staging, 'blockMapper.stageVolumeForBlock');
  try {
    await driver.stage({
      volumeId: volume.handle,
      publishContext: { ...context },
      stagingTargetPath: staging,
      volumeCapability: volumeCapability(spec, capabilities, undefined),
      secrets: { ...secrets },
      volumeContext: { ...attributesOf(spec) },
    });
  } catch (error) {
    const failure = callFailure(error);
    if (failure.failureClass !== 'final') throw failure;
    // What is left in spite of the failure is unstaged later.
    const isGone = isFirst && (await removed(host.files.rmdir(staging)));
    throw isGone ? failure : new VolumeFailure('uncertain', failure.message, { cause: failure });
  }
}

async function removed(removal: Promise<void>): Promise<boolean> {
  return removal.then(() => true, isMissing);
}

/** The same for publishing; resolves with the file that the driver made. */
async function publishDevice(
  options: CsiVolumesOptions,
  { pod, spec, isRemount, signal }: SetUpRequest,
): Promise<string> {
  const { host, rootDir, policies } = options;
  const volume = checkedVolume(spec);
  const places = blockPlaces(rootDir, innerNameOf(spec));
  const target = join(places.publish, pod.metadata.uid);
  const driver = stepWith(options, volume.driver, 'blockMapper.MapPodDevice', signal);
  const capabilities = await driver.capabilities().catch((error: unknown) => {
    const text = 'blockMapper.publishVolumeForBlock failed to ask for the capabilities of the node service: ';
    throw transient(`${prefix}${text}`, error);
  });
  const context = await publishContext(options, volume, signal);
  const secrets = await secretsOf(options, spec, 'NodePublishSecretRef', signal);
  const info = policies.get(volume.driver)?.podInfoOnMount === true ? podInfo(pod, 'Persistent') : {};
  await makeDirectory(host, places.publish, 'blockMapper.publishVolumeForBlock');
  try {
    await driver.publish({
      volumeId: volume.handle,
      publishContext: { ...context },
      // Also of a driver that does not stage.
      stagingTargetPath: places.staging,
      targetPath: target,
      volumeCapability: volumeCapability(spec, capabilities, undefined),
      readonly: isReadOnly(spec),
      secrets: { ...secrets },
      volumeContext: { ...attributesOf(spec), ...info },
    });
  } catch (error) {
    const failure = callFailure(error);
    if (failure.failureClass !== 'final' || isRemount || !(await exists(host.files, target))) throw failure;
    throw new VolumeFailure('uncertain', failure.message, { cause: failure });
  }
  return target;
}

/** Needs nothing but what is on disk and the driver, which is asked even if its file is gone. */
async function unpublishDevice(
  options: CsiVolumesOptions,
  { podUid, innerName }: VolumeRemains,
): Promise<void> {
  const { host, rootDir } = options;
  const target = join(blockPlaces(rootDir, innerName).publish, podUid);
  const { driver: name, handle } = await volumeOnDisk(options, innerName);
  const driver = stepWith(options, name, 'blockMapper.UnmapPodDevice');
  await driver.unpublish({ volumeId: handle, targetPath: target }).catch((error: unknown) => {
    throw new Error(`${prefix}blockMapper.UnmapPodDevice failed: ${errorText(error)}`, { cause: error });
  });
  if ((await mountAt(host, target)) !== undefined) {
    throw new Error(
      `${prefix}blockMapper.UnmapPodDevice failed: driver ${name} says that it has unpublished the volume, but ${target} is still mounted`,
    );
  }
  await removePublished(host, target);
}

/** A driver may leave its file; one with content is none that a device was bound to, and stays. */
async function removePublished({ files }: Host, target: string): Promise<void> {
  try {
    const { kind, sizeBytes } = await files.lstat(target);
    if (kind === 'directory') await files.rmdir(target);
    else if (kind !== 'file' || sizeBytes === 0) await files.unlink(target);
    else throw new Error(`${prefix}${target} is a file with content, which stays; remove it`);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** No pod has the device any more. */
async function unstageDevice(options: CsiVolumesOptions, { innerName }: DeviceRemains): Promise<void> {
  const { host, rootDir } = options;
  const { staging } = blockPlaces(rootDir, innerName);
  if (await exists(host.files, staging)) {
    const { driver: name, handle } = await volumeOnDisk(options, innerName);
    const driver = stepWith(options, name, 'blockMapper.TearDownDevice');
    try {
      if ((await driver.capabilities()).has('STAGE_UNSTAGE_VOLUME')) {
        await driver.unstage({ volumeId: handle, stagingTargetPath: staging });
      }
    } catch (error) {
      throw transient(`${prefix}blockMapper.TearDownDevice failed: `, error);
    }
    await removeTree(host, staging);
  }
  await cleanUp(options, innerName);
}

/** The metadata goes last: what is left without it could not be taken down. */
async function cleanUp({ host, rootDir }: CsiVolumesOptions, innerName: string): Promise<void> {
  const { publish, map, volume } = blockPlaces(rootDir, innerName);
  await host.files.rmdir(publish).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  await removeTree(host, map);
  await removeTree(host, volume);
}

/** Devices that an earlier run left, also those that no pod has a link for. */
async function blockRemains(options: CsiVolumesOptions): Promise<DevicesLeft> {
  const { host, rootDir } = options;
  const devices: DeviceRemains[] = [];
  const unknown: UnknownDevice[] = [];
  for (const name of await namesIn(host, blockRoot(rootDir))) {
    if (!isBlockVolumeName(name)) continue;
    const places = blockPlaces(rootDir, name);
    try {
      const hasDevice =
        (await exists(host.files, places.staging)) || (await exists(host.files, places.publish));
      if (!hasDevice && (await metadata(options, name)) === undefined) {
        // A process that died before it wrote the metadata has made nothing else.
        await cleanUp(options, name);
        continue;
      }
      devices.push({ uniqueName: deviceName(await volumeOnDisk(options, name)), innerName: name });
    } catch (error) {
      unknown.push({ path: places.volume, problem: errorText(error) });
    }
  }
  return { devices, unknown };
}

function metadata({ host, rootDir }: CsiVolumesOptions, innerName: string): Promise<VolData | undefined> {
  return readVolData(host, blockPlaces(rootDir, innerName).data);
}

async function volumeOnDisk(options: CsiVolumesOptions, innerName: string): Promise<DriverVolume> {
  if (!isBlockVolumeName(innerName)) throw new Error(`${innerName} is no name of a block volume`);
  const data = await metadata(options, innerName);
  if (data === undefined) throw new Error('it has no volume data');
  const volume = { driver: data.driverName, handle: data.volumeHandle };
  if (!isDriverName(volume.driver)) throw new Error(`${goQuote(volume.driver)} is no name of a CSI driver`);
  return volume;
}

function stepWith(
  { client }: CsiVolumesOptions,
  driver: string,
  step: string,
  signal?: AbortSignal,
): CsiNodeClient {
  try {
    return csiStep(client, driver, signal);
  } catch (error) {
    throw prefixed(`${prefix}${step} failed to get CSI client: `, error);
  }
}

async function secretsOf(
  options: CsiVolumesOptions,
  spec: VolumeSpec,
  kind: 'NodeStageSecretRef' | 'NodePublishSecretRef',
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const { csi } = spec.kind === 'persistent' ? spec.persistentVolume.spec : {};
  const reference = kind === 'NodeStageSecretRef' ? csi?.nodeStageSecretRef : csi?.nodePublishSecretRef;
  return reference === undefined ? {} : readSecret(options, kind, reference, signal);
}

async function makeDirectory({ files }: Host, path: string, step: string): Promise<void> {
  await files.mkdir(path, { recursive: true, mode: directoryMode }).catch((error: unknown) => {
    throw new VolumeFailure('final', `${prefix}${step} failed to create dir ${path}: ${errorText(error)}`);
  });
}
