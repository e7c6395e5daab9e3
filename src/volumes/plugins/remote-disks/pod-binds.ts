/** Binds a mounted disk for each pod, with a note in the pod's directory of which disk it is. */
import { join } from 'node:path/posix';
import {
  cleanMountPoint,
  hostApart,
  isMountPoint,
  mountAt,
  readRegular,
  replaceFile,
  temporarySuffix,
} from '../../../host/index.js';
import type { Pod } from '../../../kube/index.js';
import type { SetUpRequest, VolumeRemains } from '../../contracts.js';
import { giveToPodGroup } from '../../ownership/index.js';
import { adminMountOptions } from '../admin-mount-options.js';
import { hasBindFlags } from '../bind-flags.js';
import { innerNameOf } from '../inner-name.js';
import { mountOrCleanUp } from '../mount-or-clean-up.js';
import { fsGroupOf } from '../volume-modes.js';
import { podPluginDirectory, podVolumeDirectory } from '../volume-paths.js';
import { fieldsOf, labelIn, removeEmpty, removeFile } from './disk-notes.js';
import { remoteDiskLimits } from './limits.js';
import type { RemoteDiskOptions, RemoteDisks } from './remote-disks.js';

const directoryMode = 0o750;
/** The note in a pod's directory of the disk that its volume is on. */
const podNoteName = 'disk.json';

export class PodBinds<Disk> {
  readonly #options: RemoteDiskOptions;
  readonly #disks: RemoteDisks<Disk>;
  readonly #pluginName: string;

  constructor(options: RemoteDiskOptions, pluginName: string, disks: RemoteDisks<Disk>) {
    this.#options = options;
    this.#pluginName = pluginName;
    this.#disks = disks;
  }

  path({ podUid, innerName }: VolumeRemains): string {
    return podVolumeDirectory(this.#options.rootDir, podUid, this.#pluginName, innerName);
  }

  async bind(request: SetUpRequest): Promise<void> {
    const { host } = this.#options;
    const { pod, spec, signal } = request;
    const { readOnly } = this.#disks.volumeOf(spec);
    const disk = await this.#disks.diskOf(spec);
    const remains = { podUid: pod.metadata.uid, innerName: innerNameOf(spec) };
    const target = this.path(remains);
    const options = [...new Set(['bind', ...(readOnly ? ['ro'] : []), ...adminMountOptions(spec)])];
    const present = await mountAt(host, target);
    if (present !== undefined && hasBindFlags(present, options)) return;
    // A bind whose remount was interrupted allows more than it should.
    if (present !== undefined) await cleanMountPoint(host, target);
    const source = this.#disks.globalPath(disk);
    if (!(await isMountPoint(host, source))) throw new Error(`the disk is not mounted at ${source}`);
    const note = join(this.#podNotes(remains), podNoteName);
    const noted = { uniqueName: this.#disks.nameOf(disk), ...labelIn(request.seLinuxLabel) };
    await replaceFile(host.files, note, `${JSON.stringify(noted)}\n`);
    // Before the bind, so that the pod's volume already belongs to the group, even after a crash.
    await this.#own(pod, source, readOnly, signal);
    await host.files.mkdir(target, { mode: directoryMode, recursive: true });
    await mountOrCleanUp(host, { source, target, options }, signal);
  }

  /** The disk of a pod's volume that an earlier run left. */
  async identify(
    remains: VolumeRemains,
  ): Promise<{ readonly uniqueName: string; readonly seLinuxLabel?: string }> {
    const { host } = this.#options;
    const path = join(this.#podNotes(remains), podNoteName);
    const text = (await readRegular(host, path, remoteDiskLimits.noteBytes)).toString('utf8');
    const { uniqueName, seLinuxLabel } = fieldsOf(JSON.parse(text));
    if (typeof uniqueName !== 'string') throw new Error(`${path} names no disk`);
    return { uniqueName, ...labelIn(seLinuxLabel) };
  }

  async forget(remains: VolumeRemains): Promise<void> {
    const { host } = this.#options;
    const directory = this.#podNotes(remains);
    await removeFile(host, join(directory, `${podNoteName}${temporarySuffix}`));
    await removeFile(host, join(directory, podNoteName));
    await removeEmpty(host, directory);
  }

  #podNotes({ podUid, innerName }: VolumeRemains): string {
    return podPluginDirectory(this.#options.rootDir, podUid, this.#pluginName, innerName);
  }

  /** Gives a writable volume to the pod's group. */
  async #own(pod: Pod, directory: string, readOnly: boolean, signal: AbortSignal): Promise<void> {
    const { host, clock, warn } = this.#options;
    if (fsGroupOf(pod) === undefined || readOnly) return;
    await giveToPodGroup({ host: hostApart(host, directory), clock, warn }, pod, directory, signal);
  }
}
