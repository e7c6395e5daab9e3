/** The Node service on loop devices: real file systems that are mounted, and real devices. */
import { chmod, chown, mkdir, open, rm, rmdir, stat } from 'node:fs/promises';
import { GrpcError } from '../../../src/grpc/index.js';
import {
  type NodeExpandVolumeRequest,
  type NodeGetVolumeStatsRequest,
  type NodePublishVolumeRequest,
  type NodeStageVolumeRequest,
  type NodeUnpublishVolumeRequest,
  type NodeUnstageVolumeRequest,
  type VolumeCapability,
  VolumeCapability_AccessMode_Mode,
} from '../../../src/volumes/csi/gen/csi.js';
import { runCommand } from '../command.js';
import { errorCode } from '../vanishing.js';
import { accessOf, demand, sizeIn } from './arguments.js';
import { loopDevicesOf, readSizeAgain } from './loop-devices.js';
import { bindMount, isMounted, mountFileSystem, mountPointsOf, unmount } from './mount-commands.js';
import { deviceUsage, fileSystemUsage } from './usage.js';
import { type FileSystemType, fileSystemType, type LoopVolumes, type VolumeRecord } from './volumes.js';

const ephemeralBytes = 16 * 1024 * 1024;

export interface LoopNodeOptions {
  readonly volumes: LoopVolumes;
  /** Whether a volume must have been attached to the node before it is staged. */
  readonly attaches: boolean;
  /** What a volume gets for which none is asked. */
  readonly fsType: FileSystemType;
  readonly nodeId: () => string;
  /** Whether volumes are staged; if not, publishing does all. */
  readonly stages: () => boolean;
}

export function loopNodeService(options: LoopNodeOptions): object {
  const { volumes } = options;
  const node = new LoopNode(options);
  return {
    nodeStageVolume: async (request: NodeStageVolumeRequest) => {
      const { volumeId, stagingTargetPath, volumeCapability } = request;
      demand({ volumeId, stagingTargetPath, volumeCapability });
      accessOf(volumeCapability);
      await volumes.alone(volumeId, () => node.stage(request));
      return {};
    },
    nodeUnstageVolume: async ({ volumeId, stagingTargetPath }: NodeUnstageVolumeRequest) => {
      demand({ volumeId, stagingTargetPath });
      await volumes.alone(volumeId, async () => {
        await unmount(stagingTargetPath);
        await volumes.detach(volumeId);
      });
      return {};
    },
    nodePublishVolume: async (request: NodePublishVolumeRequest) => {
      const { volumeId, targetPath, volumeCapability } = request;
      demand({ volumeId, targetPath, volumeCapability });
      accessOf(volumeCapability);
      await volumes.alone(volumeId, () => node.publish(request));
      return {};
    },
    nodeUnpublishVolume: async ({ volumeId, targetPath }: NodeUnpublishVolumeRequest) => {
      demand({ volumeId, targetPath });
      await volumes.alone(volumeId, () => node.unpublish(volumeId, targetPath));
      return {};
    },
    nodeGetVolumeStats: async ({ volumeId, volumePath }: NodeGetVolumeStatsRequest) => {
      demand({ volumeId, volumePath });
      const { capacityBytes } = volumes.get(volumeId);
      const usage = (await isDirectory(volumePath))
        ? await fileSystemUsage(volumePath)
        : deviceUsage(capacityBytes);
      return { usage };
    },
    nodeExpandVolume: async (request: NodeExpandVolumeRequest) => {
      const { volumeId, volumePath } = request;
      demand({ volumeId, volumePath });
      return { capacityBytes: await volumes.alone(volumeId, () => node.expand(request)) };
    },
  };
}

class LoopNode {
  readonly #options: LoopNodeOptions;

  constructor(options: LoopNodeOptions) {
    this.#options = options;
  }

  async stage({
    volumeId,
    stagingTargetPath,
    volumeCapability,
    publishContext,
  }: NodeStageVolumeRequest): Promise<void> {
    const record = this.#usable(volumeId, publishContext);
    await this.#ready(record, stagingTargetPath, volumeCapability);
  }

  async publish(request: NodePublishVolumeRequest): Promise<void> {
    const { volumeId, stagingTargetPath, targetPath, volumeCapability, publishContext, readonly } = request;
    const record = await this.#usableOrOwn(request);
    const isBlock = accessOf(volumeCapability) === 'block';
    if (isMounted(targetPath)) return;
    this.#demandSingle(request);
    if (isBlock) {
      // The parent is the caller's; the file is the driver's.
      await (await open(targetPath, 'a', 0o660)).close();
      await bindMount(await this.#options.volumes.device(volumeId), targetPath, false);
      return;
    }
    await mkdir(targetPath).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error;
    });
    if (!this.#options.stages() || record.isEphemeral) {
      this.#usable(volumeId, publishContext);
      await this.#ready(record, targetPath, volumeCapability);
      if (readonly) await runCommand('mount', ['-o', 'remount,ro', targetPath]);
      return;
    }
    if (!isMounted(stagingTargetPath)) {
      throw new GrpcError('FailedPrecondition', `volume ${volumeId} is not staged at ${stagingTargetPath}`);
    }
    await bindMount(stagingTargetPath, targetPath, readonly);
  }

  async unpublish(volumeId: string, targetPath: string): Promise<void> {
    const { volumes, stages } = this.#options;
    await unmount(targetPath);
    if (await isDirectory(targetPath, false)) await rmdir(targetPath);
    else await rm(targetPath, { force: true });
    if (volumes.find(volumeId)?.isEphemeral) await volumes.delete(volumeId);
    // Another pod may use it still; the device then goes with the last mount.
    else if (!stages()) await volumes.detach(volumeId);
  }

  /** The size that it has now. */
  async expand({ volumeId, volumePath, capacityRange }: NodeExpandVolumeRequest): Promise<number> {
    const { volumes } = this.#options;
    const { capacityBytes, fsType } = volumes.get(volumeId);
    const isMountPoint = await isDirectory(volumePath);
    if (sizeIn(capacityRange, capacityBytes) > capacityBytes) {
      throw new GrpcError('OutOfRange', `volume ${volumeId} has only ${capacityBytes} bytes`);
    }
    const [device] = loopDevicesOf(volumes.image(volumeId));
    if (device === undefined)
      throw new GrpcError('FailedPrecondition', `volume ${volumeId} is not in use here`);
    await readSizeAgain(device);
    if (isMountPoint && fsType === 'ext4') await runCommand('resize2fs', [device]);
    if (isMountPoint && fsType === 'xfs') await runCommand('xfs_growfs', [volumePath]);
    return capacityBytes;
  }

  /** Makes the device and, unless it is wanted as such, mounts its file system. */
  async #ready(
    record: VolumeRecord,
    target: string,
    capability: VolumeCapability | undefined,
  ): Promise<void> {
    const device = await this.#options.volumes.device(record.id);
    if (capability?.accessType?.case !== 'mount') return;
    const { fsType, mountFlags, volumeMountGroup } = capability.accessType.value;
    const wanted = fileSystemType(fsType, this.#options.fsType);
    const formatted = await this.#options.volumes.format(record, device, wanted);
    if (formatted.fsType !== wanted) {
      throw new GrpcError('InvalidArgument', `volume ${record.id} holds ${formatted.fsType}, not ${wanted}`);
    }
    if (isMounted(target)) return;
    await mountFileSystem(device, target, { fsType: wanted, flags: mountFlags });
    if (volumeMountGroup !== '') {
      await chown(target, 0, Number(volumeMountGroup));
      await chmod(target, 0o2775);
    }
  }

  /** A volume for one writer on one node has one target path. */
  #demandSingle({
    volumeId,
    stagingTargetPath,
    targetPath,
    volumeCapability,
  }: NodePublishVolumeRequest): void {
    const { SINGLE_NODE_SINGLE_WRITER } = VolumeCapability_AccessMode_Mode;
    if (volumeCapability?.accessMode?.mode !== SINGLE_NODE_SINGLE_WRITER) return;
    const [device] = loopDevicesOf(this.#options.volumes.image(volumeId));
    const others = device === undefined ? [] : mountPointsOf(device);
    const other = others.find((place) => place !== stagingTargetPath && place !== targetPath);
    if (other !== undefined) {
      throw new GrpcError('FailedPrecondition', `volume ${volumeId} is published at ${other} already`);
    }
  }

  #usable(volumeId: string, publishContext: Readonly<Record<string, string>>): VolumeRecord {
    const record = this.#options.volumes.get(volumeId);
    const nodeId = this.#options.nodeId();
    if (!this.#options.attaches || record.isEphemeral) return record;
    if (record.attached[nodeId] === undefined || publishContext.attachedTo !== nodeId) {
      throw new GrpcError('FailedPrecondition', `volume ${volumeId} is not attached to node ${nodeId}`);
    }
    return record;
  }

  /** A volume of the pod's own is made at its first publish. */
  async #usableOrOwn({
    volumeId,
    volumeContext,
    publishContext,
  }: NodePublishVolumeRequest): Promise<VolumeRecord> {
    const { volumes } = this.#options;
    const isEphemeral = volumeContext['csi.storage.k8s.io/ephemeral'] === 'true';
    if (!isEphemeral || volumes.find(volumeId) !== undefined) return this.#usable(volumeId, publishContext);
    return volumes.create({ id: volumeId, capacityBytes: ephemeralBytes, parameters: {}, isEphemeral });
  }
}

/** A path that is missing is NotFound, or no directory if that will do. */
async function isDirectory(target: string, mustExist = true): Promise<boolean> {
  try {
    return (await stat(target)).isDirectory();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    if (mustExist) throw new GrpcError('NotFound', `${target} does not exist`);
    return false;
  }
}
