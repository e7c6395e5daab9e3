/** The flexVolume plugin: volumes that a program of the administrator mounts and unmounts. */
import { join } from 'node:path/posix';
import { type Clock, errorText } from '../../../async/index.js';
import {
  cleanMountPoint,
  type Host,
  hostApart,
  isMissing,
  isMountPoint,
  readRegular,
  replaceFile,
  temporarySuffix,
} from '../../../host/index.js';
import type { FlexPersistentVolumeSource, FlexVolumeSource, Pod } from '../../../kube/index.js';
import {
  type SetUpRequest,
  VolumeFailure,
  type VolumePlugin,
  type VolumeRemains,
  type VolumeSpec,
} from '../../contracts.js';
import { giveToPodGroup } from '../../ownership/index.js';
import { innerNameOf } from '../inner-name.js';
import { removeEmpty, removeFile } from '../remote-disks/disk-notes.js';
import type { ReadDiskSecret } from '../remote-disks/index.js';
import { fsGroupOf } from '../volume-modes.js';
import { podPluginDirectory, podVolumeDirectory } from '../volume-paths.js';
import { FlexDrivers, isFlexDriverName, type RunFlexDriver } from './flex-driver.js';
import { flexLimits } from './limits.js';

export interface FlexVolumesOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly rootDir: string;
  /** Where the administrator puts drivers. */
  readonly directory: string;
  readonly run: RunFlexDriver;
  readonly readSecret: ReadDiskSecret;
  /** Receives Warning events of the pod. */
  readonly warn?: ((pod: Pod, reason: string, message: string) => void) | undefined;
}

const pluginName = 'kubernetes.io/flexvolume';
const directoryMode = 0o750;
/** The note in a pod's directory of the driver that mounted its volume. */
const noteName = 'driver.json';

export function flexVolumes(options: FlexVolumesOptions): VolumePlugin {
  const { host, rootDir, directory, run } = options;
  const drivers = new FlexDrivers({ directory, run });
  const pathOf = ({ podUid, innerName }: VolumeRemains): string =>
    podVolumeDirectory(rootDir, podUid, pluginName, innerName);
  const notes = new FlexNotes(options);
  return {
    name: pluginName,
    refreshes: false,
    ownsDirectory: true,
    supportsMountOptions: false,
    accepts: (spec) => sourceOf(spec) !== undefined,
    innerName: innerNameOf,
    problem: (spec) => {
      const { driver = '' } = sourceOf(spec) ?? {};
      return isFlexDriverName(driver) ? undefined : `flexVolume.driver ${JSON.stringify(driver)} is no name`;
    },
    traits: (spec) => ({ managed: !isReadOnly(spec), readOnly: isReadOnly(spec), relabel: true }),
    hostPath: (spec, podUid) => pathOf({ podUid, innerName: innerNameOf(spec) }),
    async setUp(request) {
      const { pod, spec, signal } = request;
      const remains = { podUid: pod.metadata.uid, innerName: innerNameOf(spec) };
      const target = pathOf(remains);
      if (await isMountPoint(host, target)) return;
      const { driver = '' } = sourceOf(spec) ?? {};
      const { attach, fsGroup } = await drivers.capabilities(driver, signal);
      if (attach) {
        const problem = `the flexVolume driver ${driver} wants its volumes attached, which nodelet does not do; use a CSI driver`;
        throw new VolumeFailure('transient', problem);
      }
      const text = await driverOptions(options, request);
      await notes.write(remains, driver);
      await host.files.mkdir(target, { mode: directoryMode, recursive: true });
      await drivers.mount(driver, target, text, signal);
      if (fsGroup) await own(options, request, target);
    },
    async tearDown(remains) {
      const target = pathOf(remains);
      const driver = await notes.read(remains);
      if (driver !== undefined && (await isThere(host, target))) await drivers.unmount(driver, target);
      // Also what a driver leaves to the kubelet.
      await cleanMountPoint(host, target);
      await notes.remove(remains);
    },
  };
}

/** What the driver is told of the volume and its pod, as one argument. */
async function driverOptions(
  { readSecret }: FlexVolumesOptions,
  { pod, spec, signal }: SetUpRequest,
): Promise<string> {
  const source = sourceOf(spec);
  const { name, namespace } = secretOf(spec, pod);
  const secret =
    name === undefined
      ? {}
      : await readSecret(namespace, name, signal).catch((error: unknown) => {
          const problem = `cannot read the secret ${namespace}/${name}: ${errorText(error)}`;
          throw new VolumeFailure('transient', problem, { cause: error });
        });
  const fsGroup = fsGroupOf(pod);
  const { fsType = '' } = source ?? {};
  const text = JSON.stringify({
    ...source?.options,
    ...(fsType === '' ? {} : { 'kubernetes.io/fsType': fsType }),
    'kubernetes.io/readwrite': isReadOnly(spec) ? 'ro' : 'rw',
    'kubernetes.io/pvOrVolumeName': innerNameOf(spec),
    'kubernetes.io/pod.name': pod.metadata.name,
    'kubernetes.io/pod.namespace': pod.metadata.namespace,
    'kubernetes.io/pod.uid': pod.metadata.uid,
    'kubernetes.io/serviceAccount.name': pod.spec.serviceAccountName ?? '',
    ...(fsGroup === undefined ? {} : { 'kubernetes.io/mounterArgs.FsGroup': String(fsGroup) }),
    ...Object.fromEntries(
      Object.entries(secret).map(([key, value]) => [
        `kubernetes.io/secret/${key}`,
        Buffer.from(value, 'utf8').toString('base64'),
      ]),
    ),
  });
  if (Buffer.byteLength(text) > flexLimits.optionsBytes) {
    throw new VolumeFailure('transient', `flexVolume.options has more than ${flexLimits.optionsBytes} bytes`);
  }
  return text;
}

async function own(
  { host, clock, warn }: FlexVolumesOptions,
  { pod, spec, signal }: SetUpRequest,
  target: string,
): Promise<void> {
  if (fsGroupOf(pod) === undefined || isReadOnly(spec)) return;
  await giveToPodGroup({ host: hostApart(host, target), clock, warn }, pod, target, signal).catch(
    (error: unknown) => {
      // The driver has mounted it.
      throw new VolumeFailure('uncertain', errorText(error), { cause: error });
    },
  );
}

/** Which driver mounted the volume of a pod: only that one can take it down, and only the disk knows after a restart. */
class FlexNotes {
  readonly #host: Host;
  readonly #rootDir: string;

  constructor({ host, rootDir }: FlexVolumesOptions) {
    this.#host = host;
    this.#rootDir = rootDir;
  }

  async write(remains: VolumeRemains, driver: string): Promise<void> {
    await replaceFile(this.#host.files, this.#path(remains), `${JSON.stringify({ driver })}\n`);
  }

  /** Undefined if there is none. */
  async read(remains: VolumeRemains): Promise<string | undefined> {
    const path = this.#path(remains);
    let text: string;
    try {
      text = (await readRegular(this.#host, path, flexLimits.noteBytes)).toString('utf8');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
    const driver = noted(text);
    if (driver === undefined) throw new Error(`${path} names no driver`);
    return driver;
  }

  async remove(remains: VolumeRemains): Promise<void> {
    const path = this.#path(remains);
    await removeFile(this.#host, `${path}${temporarySuffix}`);
    await removeFile(this.#host, path);
    await removeEmpty(this.#host, this.#directory(remains));
  }

  #directory({ podUid, innerName }: VolumeRemains): string {
    return podPluginDirectory(this.#rootDir, podUid, pluginName, innerName);
  }

  #path(remains: VolumeRemains): string {
    return join(this.#directory(remains), noteName);
  }
}

function noted(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('driver' in value)) return undefined;
    const { driver } = value;
    return typeof driver === 'string' && isFlexDriverName(driver) ? driver : undefined;
  } catch {
    return undefined;
  }
}

async function isThere(host: Host, path: string): Promise<boolean> {
  try {
    await host.files.lstat(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function sourceOf(spec: VolumeSpec): FlexVolumeSource | FlexPersistentVolumeSource | undefined {
  return spec.kind === 'inline' ? spec.volume.flexVolume : spec.persistentVolume.spec.flexVolume;
}

function isReadOnly(spec: VolumeSpec): boolean {
  return spec.kind === 'inline' ? (spec.volume.flexVolume?.readOnly ?? false) : spec.readOnly;
}

function secretOf(
  spec: VolumeSpec,
  pod: Pod,
): { readonly name: string | undefined; readonly namespace: string } {
  const own = pod.metadata.namespace;
  if (spec.kind === 'inline') return { name: spec.volume.flexVolume?.secretRef?.name, namespace: own };
  const { name, namespace } = spec.persistentVolume.spec.flexVolume?.secretRef ?? {};
  return { name, namespace: namespace || own };
}
