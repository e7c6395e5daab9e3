/** The folders that pods have below the agent's root: making them, and removing those of pods that are gone. */
import { lstat, mkdir, readdir, realpath, rmdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { errorText } from '../../async/index.js';
import { isMissing } from '../logs/file-error.js';
import { readMountPoints } from './mount-points.js';

/** Makes a pod's folders; those that exist stay as they are. */
export async function makePodDirectories(rootDir: string, uid: string): Promise<void> {
  if (path.basename(uid) !== uid || uid === '.' || uid === '..' || uid === '')
    throw new Error(`"${uid}" cannot name a pod's folder`);
  const pod = path.join(rootDir, 'pods', uid);
  // The first makes the folders above it, too.
  for (const folder of [path.join(pod, 'volumes'), path.join(pod, 'plugins')]) {
    await mkdir(folder, { recursive: true, mode: 0o750 });
  }
}

export interface CleanResult {
  /** Folders of pods that are gone. */
  readonly seen: number;
  readonly failures: readonly string[];
}

/** Removes the folders of pods that are not known, but never anything of a volume's content. */
export async function cleanPodDirectories(
  rootDir: string,
  known: ReadonlySet<string>,
  podVolumesExist: (uid: string) => boolean | Promise<boolean>,
  mountPoints: () => Promise<ReadonlySet<string>> = readMountPoints,
): Promise<CleanResult> {
  const pods = path.join(rootDir, 'pods');
  const uids = await podUidsOnDisk(pods);
  const failures: string[] = [];
  let seen = 0;
  for (const uid of uids) {
    if (known.has(uid)) continue;
    seen++;
    try {
      if (await podVolumesExist(uid)) throw new Error('volumes are still mounted');
      // The kernel names mount points by their real paths.
      await removePodDirectory(path.join(await realpath(pods), uid), await mountPoints());
    } catch (error) {
      failures.push(`orphaned pod "${uid}": ${errorText(error)}`);
    }
  }
  return { seen, failures };
}

/** Only folders are pods; other files are nobody's business. */
async function podUidsOnDisk(pods: string): Promise<string[]> {
  try {
    const entries = await readdir(pods, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** A file system that must not be left: neither by its device nor by a mount of the same device, such as a bind mount. */
interface Bounds {
  readonly dev: number;
  readonly mountPoints: ReadonlySet<string>;
}

/** Volumes go first: while anything is in them, nothing else of the pod is touched. */
async function removePodDirectory(pod: string, mountPoints: ReadonlySet<string>): Promise<void> {
  const bounds: Bounds = { dev: (await lstat(pod)).dev, mountPoints };
  const names = await readdir(pod);
  if (names.includes('volumes')) await removeEmptyFolders(path.join(pod, 'volumes'), bounds);
  for (const name of names) {
    if (name !== 'volumes') await removeWithinBounds(path.join(pod, name), bounds);
  }
  await rmdir(pod);
}

/** Removes folders only, so that whatever is in a volume makes it fail instead of being lost. */
async function removeEmptyFolders(folder: string, bounds: Bounds): Promise<void> {
  await stayWithin(folder, bounds);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isDirectory())
      throw new Error(`${path.join(folder, entry.name)} is in the way; remove it if nothing needs it`);
    await removeEmptyFolders(path.join(folder, entry.name), bounds);
  }
  await rmdir(folder);
}

/** Removes everything below, without following links or crossing into another file system. */
async function removeWithinBounds(entry: string, bounds: Bounds): Promise<void> {
  const isDirectory = await stayWithin(entry, bounds);
  if (!isDirectory) {
    await unlink(entry);
    return;
  }
  for (const name of await readdir(entry)) await removeWithinBounds(path.join(entry, name), bounds);
  await rmdir(entry);
}

/** Fails at a mount point; otherwise tells whether the entry is a folder. */
async function stayWithin(entry: string, { dev, mountPoints }: Bounds): Promise<boolean> {
  const info = await lstat(entry);
  if (info.dev !== dev || mountPoints.has(entry)) throw new Error(`${entry} is a mount point`);
  return info.isDirectory();
}
