/** The local plugin: a directory or disk of this machine, given to pods through a persistent volume. */
import { join } from 'node:path/posix';
import type { Clock } from '../../async/index.js';
import {
  cleanMountPoint,
  type FileFacts,
  type Host,
  hostApart,
  isHostError,
  mountAt,
} from '../../host/index.js';
import type { LocalVolumeSource, Pod } from '../../kube/index.js';
import { type SetUpRequest, type VolumePlugin, type VolumeSpec, volumeModeOf } from '../contracts.js';
import { giveToPodGroup } from '../ownership/index.js';
import { adminMountOptions } from './admin-mount-options.js';
import { hasBindFlags } from './bind-flags.js';
import { prepareAndMount, type RunTool } from './disk-tools.js';
import { growFileSystem, hindered } from './file-system-growth.js';
import { innerNameOf } from './inner-name.js';
import { localBlockVolumes } from './local-block.js';
import { mountOrCleanUp } from './mount-or-clean-up.js';
import { fsGroupOf } from './volume-modes.js';
import { podVolumeDirectory } from './volume-paths.js';

export interface LocalVolumesOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly rootDir: string;
  /** Formats and checks disks; without it only formatted disks can be mounted. */
  readonly runDiskTool?: RunTool;
  /** Receives Warning events of the pod. */
  readonly warn?: (pod: Pod, reason: string, message: string) => void;
}

const pluginName = 'kubernetes.io/local-volume';
const directoryMode = 0o750;

export function localVolumes(options: LocalVolumesOptions): VolumePlugin {
  const { host, rootDir, runDiskTool } = options;
  const pathOf = (podUid: string, name: string): string =>
    podVolumeDirectory(rootDir, podUid, pluginName, name);
  const devicePath = (name: string): string => join(rootDir, 'plugins', pluginName, 'mounts', name);
  return {
    name: pluginName,
    refreshes: false,
    ownsDirectory: true,
    supportsMountOptions: true,
    accepts: (spec) => localSource(spec) !== undefined,
    innerName: innerNameOf,
    traits: (spec) => ({ managed: !isReadOnly(spec), readOnly: isReadOnly(spec), relabel: true }),
    hostPath: (spec, podUid) => pathOf(podUid, innerNameOf(spec)),
    async setUp(request) {
      const { pod, spec, signal } = request;
      const target = pathOf(pod.metadata.uid, innerNameOf(spec));
      const bindOptions = localMountOptions(spec);
      const present = await mountAt(host, target);
      if (present !== undefined && hasBindFlags(present, bindOptions)) return;
      // A bind whose remount was interrupted allows more than it should.
      if (present !== undefined) await cleanMountPoint(host, target);
      const path = checkedPath(spec);
      const facts = await host.apart(path).files.stat(path);
      checkKind(facts);
      const source = facts.kind === 'directory' ? path : devicePath(innerNameOf(spec));
      // Before the mount, so that the mounted volume already belongs to the group, even after a crash.
      await own(options, request, source);
      await host.files.mkdir(target, { mode: directoryMode, recursive: true });
      await mountOrCleanUp(host, { source, target, options: bindOptions }, signal);
    },
    tearDown: ({ podUid, innerName }) => cleanMountPoint(host, pathOf(podUid, innerName)),
    devices: {
      uniqueName: (spec) => `${pluginName}/${innerNameOf(spec)}`,
      async mountDevice(spec, signal) {
        const path = checkedPath(spec);
        const facts = await host.apart(path).files.stat(path);
        checkKind(facts);
        const target = devicePath(innerNameOf(spec));
        if (facts.kind === 'directory' || (await mountAt(host, target)) !== undefined) return;
        await host.files.mkdir(target, { mode: directoryMode, recursive: true });
        const fsType = localSource(spec)?.fsType || 'ext4';
        const mountOptions = adminMountOptions(spec);
        const readOnly = isReadOnly(spec);
        const ownOptions = readOnly ? ['ro', ...mountOptions] : mountOptions;
        const request = { source: path, target, fsType, options: ownOptions };
        await prepareAndMount(
          runDiskTool,
          { device: path, fsType, readOnly },
          () => mountOrCleanUp(host, request, signal),
          signal,
        );
      },
      unmountDevice: ({ innerName }) => cleanMountPoint(host, devicePath(innerName)),
    },
    async expand({ spec, signal }) {
      try {
        const path = checkedPath(spec);
        const { kind } = await host.apart(path).files.stat(path);
        // A directory is as large as its file system, and a raw disk has none.
        if (kind === 'directory' || volumeModeOf(spec) === 'Block') return { kind: 'expanded' };
        const disk = { device: path, mountPath: devicePath(innerNameOf(spec)) };
        return await growFileSystem({ host, run: runDiskTool }, disk, signal);
      } catch (error) {
        return hindered(error);
      }
    },
    block: localBlockVolumes({ host, rootDir }, pluginName, checkedPath),
  };
}

/** Gives a writable volume to the pod's group, unless other pods use it with another group. */
async function own(options: LocalVolumesOptions, request: SetUpRequest, source: string): Promise<void> {
  const { host, clock, warn } = options;
  const { pod, spec, signal } = request;
  const fsGroup = fsGroupOf(pod);
  if (fsGroup === undefined || isReadOnly(spec)) return;
  const facts = await host.apart(source).files.stat(source);
  if (await isSharedByPods(options, facts)) {
    if (facts.gid !== fsGroup) {
      warn?.(
        pod,
        'AlreadyMountedVolume',
        `The requested fsGroup is ${fsGroup}, but the volume ${innerNameOf(spec)} has GID ${facts.gid}. The volume may not be shareable.`,
      );
    }
    return;
  }
  await giveToPodGroup({ host: hostApart(host, source), clock, warn }, pod, source, signal);
}

/** Whether the volume is mounted for any pod, under any persistent volume. */
async function isSharedByPods({ host, rootDir }: LocalVolumesOptions, volume: FileFacts): Promise<boolean> {
  // The mount table has no links, such as a root directory moved to another disk.
  const ofPods = join(await host.files.realpath(rootDir), 'pods', '/');
  const ofPlugin = `/volumes/${pluginName.replace('/', '~')}/`;
  for (const { target } of await host.mounts.list()) {
    if (!target.startsWith(ofPods) || !target.includes(ofPlugin)) continue;
    try {
      const { device, inode } = await host.apart(target).files.stat(target);
      if (device === volume.device && inode === volume.inode) return true;
    } catch (error) {
      // A mount or disk that went away meanwhile shares nothing.
      if (!isHostError(error)) throw error;
    }
  }
  return false;
}

export function localMountOptions(spec: VolumeSpec): string[] {
  return [...new Set(['bind', ...(isReadOnly(spec) ? ['ro'] : []), ...adminMountOptions(spec)])];
}

function checkedPath(spec: VolumeSpec): string {
  const { path = '' } = localSource(spec) ?? {};
  if (path.split('/').includes('..')) throw new Error(`invalid path: ${path} must not contain '..'`);
  return path;
}

function checkKind({ kind }: FileFacts): void {
  if (kind === 'directory' || kind === 'block-device') return;
  throw new Error('only directory and block device are supported');
}

function localSource(spec: VolumeSpec): LocalVolumeSource | undefined {
  return spec.kind === 'persistent' ? spec.persistentVolume.spec.local : undefined;
}

function isReadOnly(spec: VolumeSpec): boolean {
  return spec.kind === 'persistent' && spec.readOnly;
}
