/** The metadata that CSI volumes have on disk, so that they can be taken down without the API: `vol_data.json`. */
import { join } from 'node:path/posix';
import {
  type Host,
  isHostError,
  isMissing,
  readRegular,
  replaceFile,
  temporarySuffix,
} from '../../host/index.js';
import { goQuote } from '../../kube/index.js';

export const volDataName = 'vol_data.json';
const volDataLimitBytes = 64 * 1024;

/** Keys that this node does not know are left alone; missing ones are empty. */
export interface VolData {
  readonly driverName: string;
  readonly volumeHandle: string;
  readonly specVolID: string;
  readonly volumeLifecycleMode: string;
  /** The SELinux label that it was mounted with; empty: none. */
  readonly seLinuxMountContext: string;
}

/** Undefined if there is none; throws if it cannot be read. */
export async function readVolData(host: Host, directory: string): Promise<VolData | undefined> {
  const path = join(directory, volDataName);
  let text: string;
  try {
    text = (await readRegular(host, path, volDataLimitBytes)).toString('utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  return parseVolData(text, path);
}

export function parseVolData(text: string, path: string): VolData {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} has no volume data`, { cause: error });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new Error(`${path} has no volume data`);
  }
  const fields = new Map<string, unknown>(Object.entries(parsed));
  const text_ = (key: string): string => {
    const value = fields.get(key) ?? '';
    if (typeof value !== 'string') throw new Error(`${path}: ${goQuote(key)} is no text`);
    return value;
  };
  return {
    driverName: text_('driverName'),
    volumeHandle: text_('volumeHandle'),
    specVolID: text_('specVolID'),
    volumeLifecycleMode: text_('volumeLifecycleMode'),
    seLinuxMountContext: text_('seLinuxMountContext'),
  };
}

/** What the metadata says of a volume with an SELinux label; others have no such key. */
export function labelData(seLinuxLabel = ''): Readonly<Record<string, string>> {
  return seLinuxLabel === '' ? {} : { seLinuxMountContext: seLinuxLabel };
}

/** Written at once or not at all: a volume with half of it could never be taken down. */
export async function writeVolData(
  host: Host,
  directory: string,
  data: Readonly<Record<string, string>>,
): Promise<void> {
  const sorted = Object.fromEntries(Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1)));
  await replaceFile(host.files, join(directory, volDataName), `${JSON.stringify(sorted)}\n`, { mode: 0o644 });
}

/** Whether a file system is mounted there that someone must take down. */
export type RemovedMount = 'removed' | 'still mounted';

/** Removes an empty mount point, the metadata beside it and their directory. What is mounted stays, with its metadata. */
export async function removeMountDirectory(
  host: Host,
  directory: string,
  mountName: string,
  isMounted: (path: string) => Promise<boolean>,
): Promise<RemovedMount> {
  const mount = join(directory, mountName);
  if (await isMounted(mount)) return 'still mounted';
  try {
    await tolerant(host.files.rmdir(mount));
    await tolerant(host.files.unlink(join(directory, volDataName)));
    // A process that died while it wrote the metadata leaves this.
    await tolerant(host.files.unlink(join(directory, `${volDataName}${temporarySuffix}`)));
    await tolerant(host.files.rmdir(directory));
  } catch (error) {
    const place = isHostError(error) ? error.path : mount;
    throw new Error(`kubernetes.io/csi: failed to remove dir [${place}]: ${String(error)}`, { cause: error });
  }
  return 'removed';
}

async function tolerant(removal: Promise<void>): Promise<void> {
  try {
    await removal;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
