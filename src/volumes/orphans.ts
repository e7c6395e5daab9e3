/** Removes the directories of pods that are gone, but never volume data or anything mounted. */
import { join } from 'node:path/posix';
import { errorText, throwIfCancelled } from '../async/index.js';
import { type Host, mountPointsUnder, namesIn, removeEmptyTree, removeTree } from '../host/index.js';
import { goQuote } from '../kube/index.js';

export interface OrphanedPods {
  readonly host: Host;
  /** The agent's root directory. */
  readonly rootDirectory: string;
  /** UIDs of pods that are wanted or still in the runtime. */
  readonly known: ReadonlySet<string>;
  /** Whether a volume of the pod may still be mounted. */
  readonly podVolumesExist: (uid: string) => boolean | Promise<boolean>;
  /** Aborted: nothing more is removed. */
  readonly signal?: AbortSignal;
}

export interface OrphanedPodsOutcome {
  /** Directories of gone pods: `kubelet_orphan_pod_cleaned_volumes`. */
  readonly seen: number;
  /** Those that remain: `kubelet_orphan_pod_cleaned_volumes_errors`. */
  readonly failedPods: number;
  /** The reasons; a pod whose volumes are still mounted counts without one. */
  readonly failures: readonly string[];
}

export async function cleanOrphanedPods(orphans: OrphanedPods): Promise<OrphanedPodsOutcome> {
  const { host, rootDirectory, known, signal } = orphans;
  const pods = join(rootDirectory, 'pods');
  const failures: string[] = [];
  let seen = 0;
  let failedPods = 0;
  // This runs every few seconds and usually finds only known pods, so only the others are examined.
  const unknown = (await namesIn({ files: host.ownFiles }, pods)).filter((uid) => !known.has(uid));
  const orphaned = await directoriesAmong(host, pods, unknown);
  if (orphaned.length === 0) return { seen, failedPods, failures };
  // Read once for all pods: nothing is mounted for a gone pod, and the table is long where many pods run. If
  // it cannot be read, each pod reports that.
  const mounts = await mountPointsUnder(host, pods).catch(() => undefined);
  for (const uid of orphaned) {
    throwIfCancelled(signal);
    seen++;
    const isWithoutMounts = mounts?.some(({ target }) => target.split('/').includes(uid)) === false;
    const outcome = await cleanPod(orphans, uid, join(pods, uid), isWithoutMounts);
    if (outcome !== 'removed') failedPods++;
    if (Array.isArray(outcome)) failures.push(...outcome);
  }
  return { seen, failedPods, failures };
}

async function cleanPod(
  { host, podVolumesExist, signal }: OrphanedPods,
  uid: string,
  pod: string,
  isWithoutMounts: boolean,
): Promise<'removed' | 'still mounted' | string[]> {
  const said = (what: string, error: unknown): string =>
    `orphaned pod ${goQuote(uid)} found, but ${what}: ${errorText(error)}`;
  try {
    if (await podVolumesExist(uid)) return 'still mounted';
    if (!isWithoutMounts && (await hasMountedVolumes(host, pod))) return 'still mounted';
  } catch (error) {
    return [said('error occurred while looking for its mounted volumes', error)];
  }
  throwIfCancelled(signal);
  const failures = await removeVolumes(host, pod, said);
  if (failures.length > 0) return failures;
  let names: readonly string[];
  try {
    names = await host.files.readdir(pod);
  } catch (error) {
    return [said('error occurred during reading the pod dir from disk', error)];
  }
  for (const name of names) {
    throwIfCancelled(signal);
    const entry = join(pod, name);
    try {
      if (name === 'volumes') throw new Error('volumes subdir was found after it was removed');
      await removeTree(host, entry, { isWithoutMounts });
    } catch (error) {
      failures.push(said(`error occurred when trying to remove subdir ${goQuote(entry)}`, error));
    }
  }
  throwIfCancelled(signal);
  try {
    await host.files.rmdir(pod);
  } catch (error) {
    failures.push(said('error occurred when trying to remove the pod directory', error));
  }
  return failures.length > 0 ? failures : 'removed';
}

async function hasMountedVolumes(host: Host, pod: string): Promise<boolean> {
  return (await mountPointsUnder(host, join(pod, 'volumes'))).length > 0;
}

/** Uses only calls that remove empty directories and the empty files that served as mount points. */
async function removeVolumes(
  host: Host,
  pod: string,
  said: (what: string, error: unknown) => string,
): Promise<string[]> {
  const failures: string[] = [];
  let volumes: readonly string[];
  try {
    volumes = await volumePaths(host, join(pod, 'volumes'));
  } catch (error) {
    return [said('error occurred during reading volume dir from disk', error)];
  }
  for (const path of volumes) {
    try {
      await host.files.rmdir(path);
    } catch (error) {
      failures.push(said(`failed to rmdir() volume at path ${path}`, error));
    }
  }
  let subPaths: readonly string[];
  try {
    subPaths = await subPathMounts(host, join(pod, 'volume-subpaths'));
  } catch (error) {
    return [...failures, said('error occurred during reading of volume-subpaths dir from disk', error)];
  }
  for (const path of subPaths) {
    try {
      await removeEntry(host, path);
    } catch (error) {
      failures.push(said(`failed to rmdir() subpath at path ${path}`, error));
    }
  }
  try {
    await removeEmptyTree(host, join(pod, 'volumes'));
  } catch (error) {
    failures.push(said('error occurred when trying to remove the volumes dir', error));
  }
  return failures;
}

/** `volumes/<plugin>/<name>`, or its `mount` where a CSI driver mounts. */
async function volumePaths(host: Host, volumes: string): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const plugin of await directoriesIn(host, volumes)) {
    for (const name of await directoriesIn(host, join(volumes, plugin))) {
      const volume = join(volumes, plugin, name);
      if (plugin !== 'kubernetes.io~csi') paths.push(volume);
      else if ((await directoriesIn(host, volume)).includes('mount')) paths.push(join(volume, 'mount'));
    }
  }
  return paths;
}

async function subPathMounts(host: Host, subPaths: string): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const volume of await directoriesIn(host, subPaths)) {
    for (const container of await directoriesIn(host, join(subPaths, volume))) {
      const dir = join(subPaths, volume, container);
      for (const name of await host.files.readdir(dir)) paths.push(join(dir, name));
    }
  }
  return paths;
}

/** The subdirectories of a directory; none if it does not exist. */
async function directoriesIn(host: Host, dir: string): Promise<readonly string[]> {
  return await directoriesAmong(host, dir, await namesIn(host, dir));
}

async function directoriesAmong(
  host: Host,
  dir: string,
  names: readonly string[],
): Promise<readonly string[]> {
  const directories: string[] = [];
  for (const name of names) {
    if ((await host.files.lstat(join(dir, name))).kind === 'directory') directories.push(name);
  }
  return directories;
}

async function removeEntry({ files }: Host, path: string): Promise<void> {
  if ((await files.lstat(path)).kind === 'directory') await files.rmdir(path);
  else await files.unlink(path);
}
