/** The disks of a storage network on this machine: how they come, where they are mounted, and how they go. */
import { dirname, join } from 'node:path/posix';
import { type Clock, errorText, withTimeout } from '../../../async/index.js';
import {
  cleanMountPoint,
  type Host,
  isMountPoint,
  replaceFile,
  temporarySuffix,
  unmountTree,
} from '../../../host/index.js';
import type { Pod } from '../../../kube/index.js';
import {
  type DeviceRemains,
  type DevicesLeft,
  type ExpandOutcome,
  VolumeFailure,
  type VolumeSpec,
  volumeModeOf,
} from '../../contracts.js';
import { escapePluginName } from '../../manager/states.js';
import { labelOption } from '../../selinux/index.js';
import { adminMountOptions } from '../admin-mount-options.js';
import { prepareAndMount, type RunTool } from '../disk-tools.js';
import { growFileSystem, hindered } from '../file-system-growth.js';
import { innerNameOf } from '../inner-name.js';
import type { DiskNetwork, DiskSecret, RemoteVolume } from './disk-network.js';
import { type DiskNote, DiskNotes, removeEmpty, removeFile } from './disk-notes.js';
import { remoteDiskLimits } from './limits.js';

/** Reads a secret as it is now. */
export type ReadDiskSecret = (namespace: string, name: string, signal: AbortSignal) => Promise<DiskSecret>;

export interface RemoteDiskOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly rootDir: string;
  readonly runDiskTool?: RunTool | undefined;
  readonly readSecret: ReadDiskSecret;
  /** Receives Warning events of the pod. */
  readonly warn?: ((pod: Pod, reason: string, message: string) => void) | undefined;
}

const directoryMode = 0o750;

export class RemoteDisks<Disk> {
  readonly #options: RemoteDiskOptions;
  readonly #network: DiskNetwork<Disk>;
  readonly notes: DiskNotes<Disk>;

  constructor(options: RemoteDiskOptions, network: DiskNetwork<Disk>) {
    this.#options = options;
    this.#network = network;
    const directory = join(options.rootDir, 'plugins', escapePluginName(network.pluginName), 'disks');
    this.notes = new DiskNotes(options.host, directory, (value) => network.revive(value));
  }

  volumeOf(spec: VolumeSpec): RemoteVolume<Disk> {
    return this.#network.volumeOf(spec);
  }

  uniqueName(spec: VolumeSpec): string {
    return this.nameOf(this.#network.volumeOf(spec).disk);
  }

  /** The disk as it is noted: another volume may have brought it here, by other portals. */
  async diskOf(spec: VolumeSpec): Promise<Disk> {
    const { disk } = this.#network.volumeOf(spec);
    return (await this.notes.read(this.nameOf(disk)))?.disk ?? disk;
  }

  /** Notes that the disk may be here from now on. Rejects if it is here as something else. */
  async note(spec: VolumeSpec): Promise<void> {
    const { disk } = this.#network.volumeOf(spec);
    const uniqueName = this.nameOf(disk);
    const mode = volumeModeOf(spec);
    const known = await this.notes.read(uniqueName);
    if (known !== undefined && known.mode !== mode) {
      throw new VolumeFailure('transient', `the disk is already here with volumeMode ${known.mode}`);
    }
    // The first volume of a disk names its directories until it goes.
    if (known === undefined) await this.notes.write({ uniqueName, innerName: innerNameOf(spec), mode, disk });
  }

  async attach(spec: VolumeSpec, pod: Pod, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const volume = this.#network.volumeOf(spec);
    const secret = await this.#secretOf(volume, pod, signal);
    await this.note(spec);
    const disk = await this.diskOf(spec);
    const isMounted =
      volumeModeOf(spec) === 'Filesystem' && (await isMountPoint(this.#options.host, this.globalPath(disk)));
    if (isMounted) return;
    await withTimeout(clock, remoteDiskLimits.attachMs, signal, (limit) =>
      this.#network.connect(disk, secret, limit),
    ).catch(uncertain);
  }

  /** The path of the disk's device. */
  async device(spec: VolumeSpec): Promise<string> {
    const disk = await this.diskOf(spec);
    const device = await this.#network.find(disk);
    if (device === undefined) throw new VolumeFailure('uncertain', 'the disk has no device any more');
    return device;
  }

  /** Makes the volume as large as the disk has become. */
  async grow(spec: VolumeSpec, signal: AbortSignal): Promise<ExpandOutcome> {
    try {
      const disk = await this.diskOf(spec);
      await this.#network.rescan(disk);
      if (volumeModeOf(spec) === 'Block') return { kind: 'expanded' };
      const { host, runDiskTool: run } = this.#options;
      const mounted = { device: await this.device(spec), mountPath: this.globalPath(disk) };
      return await growFileSystem({ host, run }, mounted, signal);
    } catch (error) {
      return hindered(error);
    }
  }

  async mount(spec: VolumeSpec, signal: AbortSignal, seLinuxLabel = ''): Promise<void> {
    const { host, runDiskTool } = this.#options;
    const { fsType, readOnly } = this.#network.volumeOf(spec);
    const disk = await this.diskOf(spec);
    const target = this.globalPath(disk);
    if (await isMountPoint(host, target)) return;
    try {
      const device = await this.device(spec);
      await host.files.mkdir(target, { mode: directoryMode, recursive: true });
      const record = this.#network.record?.(disk);
      if (record !== undefined) await replaceFile(host.files, join(target, record.name), record.text);
      const labelOptions = seLinuxLabel === '' ? [] : [labelOption(seLinuxLabel)];
      const ownOptions = [...(readOnly ? ['ro'] : []), ...adminMountOptions(spec), ...labelOptions];
      const mount = async (): Promise<void> => {
        await this.#noteLabel(this.nameOf(disk), seLinuxLabel);
        await host.mounts
          .mount({ source: device, target, fsType, options: ownOptions }, signal)
          .catch(uncertain);
      };
      await prepareAndMount(runDiskTool, { device, fsType, readOnly }, mount, signal);
    } catch (error) {
      uncertain(error);
    }
  }

  /** Before the mount, so that a kubelet that was killed knows what the mount may have. */
  async #noteLabel(uniqueName: string, seLinuxLabel: string): Promise<void> {
    const note = await this.notes.read(uniqueName);
    if (note === undefined || (note.seLinuxLabel ?? '') === seLinuxLabel) return;
    await this.notes.write({ ...note, seLinuxLabel });
  }

  async unmount({ uniqueName }: DeviceRemains): Promise<void> {
    const { host } = this.#options;
    const note = await this.notes.read(uniqueName);
    // The note comes first and goes last.
    if (note === undefined) return;
    const target = this.globalPath(note.disk);
    if (await isMountPoint(host, target)) await unmountTree(host, target);
    await this.release(note);
    await this.#removeGlobal(note.disk);
    await this.notes.remove(uniqueName);
  }

  /** Takes the disk away; nothing of it is mounted or mapped. */
  async release(note: DiskNote<Disk>): Promise<void> {
    await this.#network.disconnect(note.disk, async () => {
      const { notes } = await this.notes.all();
      return notes.filter(({ uniqueName }) => uniqueName !== note.uniqueName).map(({ disk }) => disk);
    });
  }

  /** What an earlier run left; asked for before anything else. */
  async remains(mode: DiskNote<Disk>['mode']): Promise<DevicesLeft> {
    await this.notes.tidy();
    const { notes, unknown } = await this.notes.all();
    // Told once, though both kinds of volumes are asked for.
    return {
      devices: notes.filter((note) => note.mode === mode),
      unknown: mode === 'Filesystem' ? unknown : [],
    };
  }

  nameOf(disk: Disk): string {
    return `${this.#network.pluginName}/${this.#network.deviceName(disk)}`;
  }

  globalPath(disk: Disk): string {
    return join(this.#options.rootDir, 'plugins', this.#network.pluginName, this.#network.globalName(disk));
  }

  async #removeGlobal(disk: Disk): Promise<void> {
    const { host } = this.#options;
    const path = this.globalPath(disk);
    const record = this.#network.record?.(disk);
    if (record !== undefined) {
      await removeFile(host, join(path, `${record.name}${temporarySuffix}`));
      await removeFile(host, join(path, record.name));
    }
    await cleanMountPoint(host, path);
    // Other disks may have theirs beside it.
    await removeEmpty(host, dirname(path));
  }

  async #secretOf(
    { secretRef }: RemoteVolume<Disk>,
    pod: Pod,
    signal: AbortSignal,
  ): Promise<DiskSecret | undefined> {
    if (secretRef === undefined) return undefined;
    const namespace = secretRef.namespace ?? pod.metadata.namespace;
    try {
      return await this.#options.readSecret(namespace, secretRef.name, signal);
    } catch (error) {
      throw new VolumeFailure(
        'transient',
        `cannot read the secret ${namespace}/${secretRef.name}: ${errorText(error)}`,
        { cause: error },
      );
    }
  }
}

/** What has begun may have left something, which goes with the device. */
function uncertain(error: unknown): never {
  throw error instanceof VolumeFailure
    ? error
    : new VolumeFailure('uncertain', errorText(error), { cause: error });
}
