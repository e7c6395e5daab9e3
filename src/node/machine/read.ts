/** Reads the machine's properties from its files. */
import { arch, availableParallelism } from 'node:os';
import path from 'node:path';
import { type HostFiles, isHostError, isMissing } from '../../host/index.js';
import {
  countCpuList,
  type HugePages,
  hugePageSizeBytes,
  kubernetesArchitecture,
  type MachineInfo,
  osImageOf,
  type PlatformFacts,
  parseMeminfo,
} from './facts.js';

export interface MachineReader {
  readonly files: HostFiles;
  readonly rootDir: string;
  /** Total bytes of the file system that holds a path. Default: asks the machine. */
  readonly filesystemBytes?: (path: string) => Promise<number>;
}

export async function readMachineFacts({
  files,
  rootDir,
  filesystemBytes = (directory) => filesystemOf(files, directory),
}: MachineReader): Promise<MachineInfo> {
  const online = await firstText(files, ['/sys/devices/system/cpu/online']);
  return {
    ...parseMeminfo(await text(files, '/proc/meminfo')),
    cpus: (online === undefined ? undefined : countCpuList(online)) ?? availableParallelism(),
    hugePages: await readHugePages(files),
    rootFilesystemBytes: await filesystemBytes(rootDir),
    machineId: (await firstText(files, ['/etc/machine-id', '/var/lib/dbus/machine-id'])) ?? '',
    systemUuid:
      (await firstText(files, [
        '/sys/class/dmi/id/product_uuid',
        '/proc/device-tree/system-id',
        '/proc/device-tree/vm,uuid',
        '/etc/machine-id',
      ])) ?? '',
    bootId: (await firstText(files, ['/proc/sys/kernel/random/boot_id'])) ?? '',
  };
}

export async function readPlatformFacts(files: HostFiles, kernelRelease: string): Promise<PlatformFacts> {
  return {
    kernelVersion: kernelRelease,
    osImage: await readOsImage(files),
    architecture: kubernetesArchitecture(arch()),
  };
}

async function readOsImage(files: HostFiles): Promise<string> {
  const found = await firstText(files, ['/etc/os-release', '/usr/lib/os-release']);
  return found === undefined ? 'Unknown' : osImageOf(found);
}

async function readHugePages(files: HostFiles): Promise<HugePages[]> {
  const directory = '/sys/kernel/mm/hugepages';
  const entries = await files.readdir(directory).catch((error: unknown) => {
    // A kernel without huge pages has no such directory.
    if (isMissing(error)) return [];
    throw error;
  });
  const found: HugePages[] = [];
  for (const entry of entries) {
    const pageSizeBytes = hugePageSizeBytes(entry);
    if (pageSizeBytes === undefined) continue;
    const pages = Number((await text(files, path.join(directory, entry, 'nr_hugepages'))).trim());
    found.push({ pageSizeBytes, pages: Number.isFinite(pages) ? pages : 0 });
  }
  return found.sort((a, b) => a.pageSizeBytes - b.pageSizeBytes);
}

async function text(files: HostFiles, file: string): Promise<string> {
  return Buffer.from(await files.readFile(file)).toString('utf8');
}

/** The first non-empty file that is there and may be read; identity files may not be everywhere. */
async function firstText(files: HostFiles, candidates: readonly string[]): Promise<string | undefined> {
  for (const file of candidates) {
    const content = await text(files, file).catch((error: unknown) => {
      if (isHostError(error, 'ENOENT', 'ENOTDIR', 'EACCES', 'EPERM')) return '';
      throw error;
    });
    // Device tree values end with a NUL byte.
    const value = content.replaceAll('\0', '').trim();
    if (value !== '') return value;
  }
  return undefined;
}

/** A directory that is not there yet will be on the file system of the one that it is made in. */
async function filesystemOf(files: HostFiles, directory: string): Promise<number> {
  try {
    const { blocks, blockBytes } = await files.statFileSystem(directory);
    return blocks * blockBytes;
  } catch (error) {
    const parent = path.dirname(directory);
    if (!isMissing(error) || parent === directory) throw error;
    return filesystemOf(files, parent);
  }
}
