/** Finds volumes that an earlier run left on disk, to adopt them or clean them up. */
import { join } from 'node:path/posix';
import { asError, errorText } from '../../async/index.js';
import { type Host, isHostError, isMissing } from '../../host/index.js';
import type {
  ContainerVolumeMode,
  DevicesLeft,
  UnknownDevice,
  VolumeIdentity,
  VolumePlugin,
  VolumeSpec,
} from '../contracts.js';
import { subPathsDirectory } from '../subpath/index.js';
import {
  type ActualDevice,
  type ActualMount,
  escapePluginName,
  unescapePluginName,
  uniqueNameInPod,
} from './states.js';

/** A directory that no plugin recognizes. */
export interface Leftover {
  readonly podUid: string;
  readonly pluginName: string;
  readonly innerName: string;
  readonly mode: ContainerVolumeMode;
  readonly path: string;
  readonly problem: string;
  /** Whether only its plugin could remove it, so that it stays for the administrator. */
  readonly isKept: boolean;
}

/** subPath mounts of a volume without a directory of its own, such as a hostPath. */
export interface StrandedSubPaths {
  readonly podUid: string;
  readonly innerName: string;
}

export interface Reconstruction {
  readonly mounts: readonly ActualMount[];
  readonly devices: readonly ActualDevice[];
  readonly leftovers: readonly Leftover[];
  readonly subPaths: readonly StrandedSubPaths[];
  /** They stay for the administrator. */
  readonly unknownDevices: readonly UnknownDevice[];
  /** Directories that could not be read, with the reason. */
  readonly problems: readonly string[];
}

/** A directory `pods/<uid>/volumes/<plugin>/<name>`, or of a block volume a link `pods/<uid>/volumeDevices/<plugin>/<name>`. */
export interface VolumeDirectory {
  readonly mode: ContainerVolumeMode;
  readonly podUid: string;
  readonly pluginDirectory: string;
  readonly name: string;
}

const placeOf = { Filesystem: 'volumes', Block: 'volumeDevices' } as const;

export function volumeDirectoryPath(
  rootDir: string,
  { mode, podUid, pluginDirectory, name }: VolumeDirectory,
): string {
  return join(rootDir, 'pods', podUid, placeOf[mode], pluginDirectory, name);
}

/** The directory of a plugin's volumes in a pod. */
export function pluginDirectory(rootDir: string, podUid: string, pluginName: string): string {
  return join(rootDir, 'pods', podUid, 'volumes', escapePluginName(pluginName));
}

/** The same for one pod whose directories could not be read then. */
export async function reconstructPod(
  host: Host,
  rootDir: string,
  plugins: readonly VolumePlugin[],
  podUid: string,
): Promise<Pick<Reconstruction, 'mounts' | 'devices'>> {
  const problems: string[] = [];
  const { dirs } = await directoriesOfPod(host, rootDir, podUid, (problem) => problems.push(problem));
  if (problems.length > 0) throw new Error(problems.join('; '));
  return judgeDirectories(dirs, rootDir, plugins, await identify(dirs, plugins));
}

export async function reconstruct(
  host: Host,
  rootDir: string,
  plugins: readonly VolumePlugin[],
): Promise<Reconstruction> {
  const problems: string[] = [];
  const { dirs, subPaths } = await directoriesOfPods(host, rootDir, (problem) => problems.push(problem));
  const identities = await identify(dirs, plugins);
  const judged = judgeDirectories(dirs, rootDir, plugins, identities);
  const devices = [...judged.devices];
  const unknownDevices: UnknownDevice[] = [];
  const adopt = (left: DevicesLeft | undefined, pluginName: string, mode: ContainerVolumeMode): void => {
    unknownDevices.push(...(left?.unknown ?? []));
    for (const { uniqueName, innerName, seLinuxLabel } of left?.devices ?? []) {
      const at = devices.findIndex((device) => device.uniqueName === uniqueName);
      const known = devices[at];
      // Of the label of a device its own metadata knows best.
      if (known !== undefined) devices[at] = { ...known, seLinuxLabel: seLinuxLabel ?? known.seLinuxLabel };
      else devices.push({ uniqueName, innerName, pluginName, mode, seLinuxLabel, state: 'uncertain' });
    }
  };
  for (const { name, devices: mounted, block } of plugins) {
    const failed = (error: unknown): undefined => {
      problems.push(`devices of ${name}: ${errorText(error)}`);
    };
    adopt(await mounted?.remains?.().catch(failed), name, 'Filesystem');
    adopt(await block?.remains?.().catch(failed), name, 'Block');
  }
  const stranded = strandedSubPaths(subPaths, judged.mounts);
  return { ...judged, devices, subPaths: stranded, unknownDevices, problems };
}

/** What plugins say of directories whose names do not tell enough. */
export type VolumeIdentities = ReadonlyMap<VolumeDirectory, VolumeIdentity | Error>;

async function identify(
  dirs: readonly VolumeDirectory[],
  plugins: readonly VolumePlugin[],
): Promise<VolumeIdentities> {
  const identities = new Map<VolumeDirectory, VolumeIdentity | Error>();
  for (const dir of dirs) {
    const plugin = plugins.find(({ name }) => name === unescapePluginName(dir.pluginDirectory));
    const identifying = dir.mode === 'Block' ? plugin?.block : plugin;
    if (identifying?.identify === undefined) continue;
    const remains = { podUid: dir.podUid, innerName: dir.name };
    identities.set(dir, await identifying.identify(remains).catch(asError));
  }
  return identities;
}

/** subPaths of all other volumes are removed with their volumes. */
export function strandedSubPaths(
  subPaths: readonly StrandedSubPaths[],
  mounts: readonly Pick<ActualMount, 'podUid' | 'innerName'>[],
): StrandedSubPaths[] {
  return subPaths.filter(
    ({ podUid, innerName }) =>
      !mounts.some((mount) => mount.podUid === podUid && mount.innerName === innerName),
  );
}

/** Infers from the directories what may be mounted. */
export function judgeDirectories(
  dirs: readonly VolumeDirectory[],
  rootDir: string,
  plugins: readonly VolumePlugin[],
  identities: VolumeIdentities = new Map(),
): Omit<Reconstruction, 'problems' | 'subPaths' | 'unknownDevices'> {
  const mounts: ActualMount[] = [];
  const devices = new Map<string, ActualDevice>();
  const leftovers: Leftover[] = [];
  for (const dir of dirs) {
    const { podUid, name: innerName, mode } = dir;
    const pluginName = unescapePluginName(dir.pluginDirectory);
    const plugin = plugins.find(
      ({ name, ownsDirectory, block }) =>
        name === pluginName && (mode === 'Block' ? block !== undefined : ownsDirectory),
    );
    const identity = identities.get(dir);
    if (plugin === undefined || identity instanceof Error) {
      const path = volumeDirectoryPath(rootDir, dir);
      const problem = identity instanceof Error ? identity.message : 'no volume plugin matched';
      leftovers.push({ podUid, pluginName, innerName, mode, path, problem, isKept: plugin !== undefined });
      continue;
    }
    const deviceName =
      identity === undefined ? plugin.devices?.uniqueName(specFromName(innerName)) : identity.uniqueName;
    const uniqueName = deviceName ?? uniqueNameInPod(pluginName, podUid, innerName);
    const { driver, seLinuxLabel } = identity ?? {};
    const known = { uniqueName, pluginName, innerName, mode, seLinuxLabel, state: 'uncertain' as const };
    mounts.push({ ...known, driver, podUid, reconstructed: true, remountRequired: false, owner: undefined });
    if (deviceName !== undefined) devices.set(uniqueName, known);
  }
  return { mounts, devices: [...devices.values()], leftovers };
}

/** A persistent volume known only by its directory's name, which is enough to name it. */
function specFromName(name: string): VolumeSpec {
  return {
    kind: 'persistent',
    volume: { name },
    persistentVolume: { metadata: { name }, spec: {} },
    readOnly: false,
  };
}

interface PodDirectoriesFound {
  readonly dirs: readonly VolumeDirectory[];
  readonly subPaths: readonly StrandedSubPaths[];
}

async function directoriesOfPods(
  host: Host,
  rootDir: string,
  onProblem: (problem: string) => void,
): Promise<PodDirectoriesFound> {
  const dirs: VolumeDirectory[] = [];
  const subPaths: StrandedSubPaths[] = [];
  for (const podUid of await listed(host, join(rootDir, 'pods'), onProblem)) {
    const found = await directoriesOfPod(host, rootDir, podUid, onProblem);
    dirs.push(...found.dirs);
    subPaths.push(...found.subPaths);
  }
  return { dirs, subPaths };
}

async function directoriesOfPod(
  host: Host,
  rootDir: string,
  podUid: string,
  onProblem: (problem: string) => void,
): Promise<PodDirectoriesFound> {
  const list = (path: string): Promise<readonly string[]> => listed(host, path, onProblem);
  const pod = join(rootDir, 'pods', podUid);
  const dirs: VolumeDirectory[] = [];
  for (const mode of ['Filesystem', 'Block'] as const) {
    for (const dir of await list(join(pod, placeOf[mode]))) {
      for (const name of await list(join(pod, placeOf[mode], dir))) {
        dirs.push({ mode, podUid, pluginDirectory: dir, name });
      }
    }
  }
  const subPaths = (await list(subPathsDirectory(pod))).map((innerName) => ({ podUid, innerName }));
  return { dirs, subPaths };
}

async function listed(
  { files }: Host,
  path: string,
  onProblem: (problem: string) => void,
): Promise<readonly string[]> {
  try {
    return await files.readdir(path);
  } catch (error) {
    if (!isMissing(error) && !isHostError(error, 'ENOTDIR')) onProblem(`${path}: ${errorText(error)}`);
    return [];
  }
}
