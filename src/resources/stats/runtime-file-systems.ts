/** The file systems of the runtime: of its images, and of the containers' own files where they lie elsewhere. */
import type { CriRuntime, FilesystemUsage } from '../../cri/index.js';
import { statsTimeOfNs } from './cri-usage.js';
import type { Machine } from './machine.js';
import { capacityOf } from './pod-summary.js';
import type { FsStats } from './summary-types.js';

export interface RuntimeFileSystems {
  readonly imageFs: FsStats;
  readonly containerFs: FsStats;
  readonly imageMountpoint: string;
  /** Undefined where the runtime names none for containers. */
  readonly containerMountpoint: string | undefined;
}

type FileSystemReader = Pick<Machine, 'fileSystem'>;

/** Rejects if the runtime does not say where its images are. */
export async function runtimeFileSystems(
  cri: Pick<CriRuntime, 'imageFsInfo'>,
  machine: FileSystemReader,
): Promise<RuntimeFileSystems> {
  const { imageFilesystems, containerFilesystems } = await cri.imageFsInfo({});
  const [image] = imageFilesystems;
  if (image === undefined) throw new Error('the runtime reports no image file system');
  const [container] = containerFilesystems;
  const imageMountpoint = image.fsId?.mountpoint ?? '';
  const containerMountpoint = container?.fsId?.mountpoint;
  const imageFs = await fsOf(machine, image);
  const isSame = container === undefined || containerMountpoint === imageMountpoint;
  const containerFs = isSame ? imageFs : await fsOf(machine, container);
  return { imageFs, containerFs, imageMountpoint, containerMountpoint };
}

/** What is used is the runtime's own count; the rest is the kernel's. */
async function fsOf(machine: FileSystemReader, usage: FilesystemUsage): Promise<FsStats> {
  return {
    ...capacityOf(await machine.fileSystem(usage.fsId?.mountpoint ?? '')),
    time: statsTimeOfNs(usage.timestamp),
    ...(usage.usedBytes === undefined ? {} : { usedBytes: usage.usedBytes.value }),
    ...(usage.inodesUsed === undefined ? {} : { inodesUsed: usage.inodesUsed.value }),
  };
}

export interface NodeFileSystems extends RuntimeFileSystems {
  readonly rootDevice: bigint;
  readonly imageDevice: bigint;
  readonly containerDevice: bigint | undefined;
}

/** The same with the devices that they and the node's root directory are on. */
export async function nodeFileSystems(
  cri: Pick<CriRuntime, 'imageFsInfo'>,
  machine: Pick<Machine, 'fileSystem' | 'device'>,
  rootDir: string,
): Promise<NodeFileSystems> {
  const runtime = await runtimeFileSystems(cri, machine);
  const { imageMountpoint, containerMountpoint } = runtime;
  return {
    ...runtime,
    rootDevice: await machine.device(rootDir),
    imageDevice: await machine.device(imageMountpoint),
    containerDevice:
      containerMountpoint === undefined ? undefined : await machine.device(containerMountpoint),
  };
}
