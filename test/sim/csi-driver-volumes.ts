/** What a simulated CSI driver does to volumes. The mounts of the machine are its only state; it notes each breach of the protocol. */
import type { MountPoint, SimulatedHost } from '../../src/host/index.js';
import {
  VolumeCapability_AccessMode_Mode as Mode,
  type NodePublishVolumeRequest,
  type NodeStageVolumeRequest,
  type NodeUnpublishVolumeRequest,
  type NodeUnstageVolumeRequest,
} from '../../src/volumes/csi/gen/csi.js';

export class CsiDriverVolumes {
  readonly violations: string[] = [];
  readonly #host: SimulatedHost;
  /** With which label volumes were staged; the simulated machine has none. */
  readonly #labels = new Map<string, string>();
  /** The containers that use a path. */
  readonly #usersOf: (path: string) => readonly string[];

  constructor(host: SimulatedHost, usersOf: (path: string) => readonly string[]) {
    this.#host = host;
    this.#usersOf = usersOf;
  }

  /** What is mounted: by volume, the paths. */
  async mounted(): Promise<Map<string, string[]>> {
    const found = new Map<string, string[]>();
    for (const { source, target } of await this.#mounts()) {
      found.set(source, [...(found.get(source) ?? []), target]);
    }
    return found;
  }

  /** Writes a file into a volume, mounted or not. */
  async write(volumeId: string, name: string, text: string): Promise<void> {
    await this.#within(volumeId, (dir) => this.#host.files.writeFile(`${dir}/${name}`, text));
  }

  async read(volumeId: string, name: string): Promise<string | undefined> {
    return this.#within(volumeId, async (dir) => {
      const bytes = await this.#host.files.readFile(`${dir}/${name}`).catch(() => undefined);
      return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
    });
  }

  async stage(request: NodeStageVolumeRequest): Promise<object> {
    const { volumeId, stagingTargetPath } = request;
    await this.#checkLabel(request);
    const staged = await this.#stagedAt(volumeId);
    if (staged.length > 0 && !staged.includes(stagingTargetPath)) {
      this.violations.push(`${volumeId} is staged at ${stagingTargetPath}, and at ${staged.join(', ')}`);
    }
    if (staged.includes(stagingTargetPath)) return {};
    if (!(await this.#isDirectory(stagingTargetPath))) {
      this.violations.push(`the kubelet did not make ${stagingTargetPath}`);
    }
    await this.#host.mounts.mount({
      source: sourceOf(volumeId),
      target: stagingTargetPath,
      fsType: 'ext4',
      options: contextOf(request),
    });
    this.#labels.set(volumeId, contextOf(request).join());
    return {};
  }

  async publish(request: NodePublishVolumeRequest): Promise<object> {
    const { volumeId, stagingTargetPath, targetPath, readonly, volumeCapability } = request;
    if (stagingTargetPath !== '') await this.#checkLabel(request);
    const published = await this.#publishedAt(volumeId);
    const others = published.filter((path) => path !== targetPath);
    if (volumeCapability?.accessMode?.mode === Mode.SINGLE_NODE_SINGLE_WRITER && others.length > 0) {
      this.violations.push(
        `${volumeId} may be published once, and is at ${others.join(', ')} and ${targetPath}`,
      );
    }
    const isStaged = stagingTargetPath !== '';
    if (isStaged && !(await this.#stagedAt(volumeId)).includes(stagingTargetPath)) {
      this.violations.push(
        `${volumeId} is published at ${targetPath}, but not staged at ${stagingTargetPath}`,
      );
    }
    if (published.includes(targetPath)) return {};
    const { files, mounts } = this.#host;
    const parent = targetPath.replace(/\/[^/]+$/, '');
    if ((await files.readFile(`${parent}/vol_data.json`).catch(() => undefined)) === undefined) {
      this.violations.push(`${targetPath} is published before its vol_data.json is written`);
    }
    await files.mkdir(targetPath).catch(() => {});
    const options = readonly ? ['ro'] : [];
    if (isStaged)
      await mounts.mount({ source: stagingTargetPath, target: targetPath, options: ['bind', ...options] });
    else await mounts.mount({ source: sourceOf(volumeId), target: targetPath, fsType: 'ext4', options });
    return {};
  }

  async unpublish({ volumeId, targetPath }: NodeUnpublishVolumeRequest): Promise<object> {
    const users = this.#usersOf(targetPath);
    if (users.length > 0)
      this.violations.push(`${targetPath} is unpublished while ${users.join(', ')} uses it`);
    await this.#unmount(volumeId, targetPath);
    await this.#host.files.rmdir(targetPath).catch(() => {});
    return {};
  }

  async unstage({ volumeId, stagingTargetPath }: NodeUnstageVolumeRequest): Promise<object> {
    const published = await this.#publishedAt(volumeId);
    if (published.length > 0) {
      this.violations.push(`${volumeId} is unstaged while it is published at ${published.join(', ')}`);
    }
    await this.#unmount(volumeId, stagingTargetPath);
    return {};
  }

  /** All mounts of a file system have the label of the first. */
  async #checkLabel(request: NodeStageVolumeRequest | NodePublishVolumeRequest): Promise<void> {
    const { volumeId, stagingTargetPath } = request;
    if (!(await this.#stagedAt(volumeId)).includes(stagingTargetPath)) return;
    const has = this.#labels.get(volumeId) ?? '';
    const wanted = contextOf(request).join();
    if (has !== wanted)
      this.violations.push(`${volumeId} has the label '${has}', and is wanted with '${wanted}'`);
  }

  async #unmount(volumeId: string, target: string): Promise<void> {
    const there = (await this.#mounts()).filter((mount) => mount.target === target);
    for (const { source } of there) {
      if (source !== volumeId)
        this.violations.push(`${target} is taken from ${volumeId}, but holds ${source}`);
      await this.#host.mounts.unmount(target);
    }
  }

  async #stagedAt(volumeId: string): Promise<string[]> {
    return ((await this.mounted()).get(volumeId) ?? []).filter(isStagingPath);
  }

  async #publishedAt(volumeId: string): Promise<string[]> {
    return ((await this.mounted()).get(volumeId) ?? []).filter((path) => !isStagingPath(path));
  }

  /** Of the driver's volumes; `source` is the volume. */
  async #mounts(): Promise<Pick<MountPoint, 'source' | 'target'>[]> {
    const prefix = sourceOf('');
    return (await this.#host.mounts.list())
      .filter(({ source }) => source.startsWith(prefix))
      .map(({ source, target }) => ({ source: source.slice(prefix.length), target }));
  }

  async #isDirectory(path: string): Promise<boolean> {
    return (await this.#host.files.stat(path).catch(() => undefined))?.kind === 'directory';
  }

  async #within<T>(volumeId: string, work: (directory: string) => Promise<T>): Promise<T> {
    const directory = '/tmp/look';
    await this.#host.files.mkdir(directory, { recursive: true });
    await this.#host.mounts.mount({
      source: sourceOf(volumeId),
      target: directory,
      fsType: 'ext4',
      options: [],
    });
    try {
      return await work(directory);
    } finally {
      await this.#host.mounts.unmount(directory);
    }
  }
}

function contextOf({ volumeCapability }: NodeStageVolumeRequest | NodePublishVolumeRequest): string[] {
  const type = volumeCapability?.accessType;
  return type?.case === 'mount' ? type.value.mountFlags.filter((flag) => flag.startsWith('context=')) : [];
}

const sourceOf = (volumeId: string): string => `/dev/csi/${volumeId}`;

export const isStagingPath = (path: string): boolean => path.endsWith('/globalmount');
