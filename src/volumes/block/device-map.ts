/**
 * The map of a block volume's device for one pod: a bind of the device, a link to it in the pod's directory, and a loop
 * device on the bind, which keeps the device's number from being given to another disk. The link comes first and goes last,
 * so that a kubelet that died at any point finds the rest by it.
 */
import { randomUUID } from 'node:crypto';
import { basename, dirname, join } from 'node:path/posix';
import { errorText } from '../../async/index.js';
import {
  cleanMountPoint,
  type FileFacts,
  type Host,
  isCorruptedMount,
  isHostError,
  isMissing,
  isMountPoint,
  namesIn,
} from '../../host/index.js';

const directoryMode = 0o750;
const fileMode = 0o750;
/** Maximum number of mounts stacked at the bind. */
const stackLimit = 16;

export interface DeviceMap {
  /** The pod's directory: `<root>/pods/<uid>`. */
  readonly podDirectory: string;
  /** `<pod>/volumeDevices/kubernetes.io~csi/<name>` */
  readonly link: string;
  /** The bind of the device: `…/volumeDevices/<name>/dev/<uid>`. */
  readonly file: string;
}

/** Notes that the pod may get a device from here on. A link that is there already stays. */
export async function noteDevice(host: Host, map: DeviceMap): Promise<void> {
  await host.files.mkdir(dirname(map.link), { recursive: true, mode: directoryMode });
  try {
    await host.files.symlink(map.file, map.link);
  } catch (error) {
    if (!isHostError(error, 'EEXIST')) throw error;
  }
}

/** Nothing of the device may be left for the pod. */
export async function forgetDevice({ files }: Host, { link }: DeviceMap): Promise<void> {
  try {
    await files.unlink(link);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/**
 * Binds the disk at a path without symbolic links, links it and pins it. Idempotent: keeps a bind of the same disk,
 * replaces a bind of another one.
 */
export async function mapDevice(host: Host, map: DeviceMap, device: string): Promise<void> {
  // Held, so that it is the disk that was looked at that is bound, whatever happens to its name.
  const held = await host.hold(device);
  try {
    const facts = await held.stat();
    if (facts.kind !== 'block-device') {
      throw new Error(
        `${device} is a ${kindText(facts)} and no block device; the volume has volumeMode Block`,
      );
    }
    if (!(await isBoundAlready(host, map, facts))) {
      await prepareFile(host, map.file);
      const request = { source: held.procPath, target: map.file, options: ['bind'], noCanonicalize: true };
      await host.mounts.mount(request);
    }
  } finally {
    await held.close();
  }
  await replaceLink(host, map, device);
  if ((await pins(host, map)).length === 0) await host.blockDevices.attachLoop(map.file);
}

/** Takes away the pin and the bind; the link stays until the driver has taken the device away. */
export async function unmapDevice(host: Host, map: DeviceMap): Promise<void> {
  await unpin(host, map);
  await cleanMountPoint(host, map.file);
}

/** Names of pods whose bind of the device is still there. */
export async function podsWithDevice(host: Host, mapDirectory: string): Promise<readonly string[]> {
  const pods: string[] = [];
  for (const name of await namesIn(host, mapDirectory)) {
    try {
      if ((await host.files.stat(join(mapDirectory, name))).kind === 'block-device') pods.push(name);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return pods;
}

/** Undefined if the pod has no link. Throws unless the link leads to the very disk that was bound for the pod. */
export async function mappedDevice(host: Host, map: DeviceMap): Promise<string | undefined> {
  let linked: FileFacts;
  try {
    linked = await host.files.stat(map.link);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  const bound = await host.files.stat(map.file).catch((error: unknown) => {
    throw new Error(`the device at ${map.file} is gone: ${errorText(error)}`, { cause: error });
  });
  if (bound.kind === 'block-device' && isSame(linked, bound)) return map.link;
  throw new Error(`${map.link} does not lead to the device that was mapped for the pod`);
}

async function isBoundAlready(host: Host, map: DeviceMap, wanted: FileFacts): Promise<boolean> {
  for (let depth = 0; depth < stackLimit && (await isMountPoint(host, map.file)); depth++) {
    const there = await statMounted(host, map.file);
    if (there !== undefined && isSame(there, wanted)) return true;
    await unpin(host, map);
    await host.mounts.unmount(map.file);
  }
  return false;
}

async function statMounted({ files }: Host, path: string): Promise<FileFacts | undefined> {
  try {
    return await files.stat(path);
  } catch (error) {
    if (isCorruptedMount(error) || isMissing(error)) return undefined;
    throw error;
  }
}

function isSame(one: FileFacts, other: FileFacts): boolean {
  return one.device === other.device && one.inode === other.inode;
}

async function prepareFile({ files }: Host, path: string): Promise<void> {
  await files.mkdir(dirname(path), { recursive: true, mode: directoryMode });
  try {
    const { kind } = await files.lstat(path);
    if (kind === 'file') return;
    if (kind === 'directory') await files.rmdir(path);
    else await files.unlink(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  await files.writeFile(path, '', { mode: fileMode, exclusive: true });
}

/** At once: a kubelet that died in between would not find the device again. */
async function replaceLink(
  { files }: Host,
  { podDirectory, link }: DeviceMap,
  target: string,
): Promise<void> {
  if ((await files.readlink(link).catch(() => undefined)) === target) return;
  const fresh = join(podDirectory, `.device-${randomUUID()}`);
  await files.symlink(target, fresh);
  try {
    await files.rename(fresh, link);
  } catch (error) {
    await files.unlink(fresh).catch(() => undefined);
    throw error;
  }
}

/** Loop devices on the bind. */
async function pins(host: Host, { file }: DeviceMap): Promise<readonly string[]> {
  let directory: string;
  try {
    directory = await host.files.realpath(dirname(file));
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
  const names: ReadonlySet<string> = new Set([file, join(directory, basename(file))]);
  return (await host.blockDevices.loops()).filter((loop) => names.has(loop.file)).map(({ device }) => device);
}

async function unpin(host: Host, map: DeviceMap): Promise<void> {
  for (const device of await pins(host, map)) await host.blockDevices.detachLoop(device);
}

function kindText({ kind }: FileFacts): string {
  return kind === 'file' ? 'regular file' : kind.replace('-', ' ');
}
