/** The flexVolume plugin: volumes that a program of the administrator mounts and unmounts. */
import { type Clock, errorText } from '../../../async/index.js';
import { cleanMountPoint, type Host, hostApart, isMissing, isMountPoint } from '../../../host/index.js';
import type { FlexPersistentVolumeSource, FlexVolumeSource, Pod, Secret } from '../../../kube/index.js';
import {
  type SetUpRequest,
  VolumeFailure,
  type VolumePlugin,
  type VolumeRemains,
  type VolumeSpec,
} from '../../contracts.js';
import { giveToPodGroup } from '../../ownership/index.js';
import { innerNameOf } from '../inner-name.js';
import { fsGroupOf } from '../volume-modes.js';
import { podVolumeDirectory } from '../volume-paths.js';
import { FlexDrivers, type FlexOptions, isFlexDriverName, type RunFlexDriver } from './flex-driver.js';
import { FlexNotes } from './flex-notes.js';
import { flexLimits } from './limits.js';

export interface FlexVolumesOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly rootDir: string;
  /** Where the administrator puts drivers. */
  readonly directory: string;
  readonly run: RunFlexDriver;
  /** Reads a secret as it is now. */
  readonly readSecret: (namespace: string, name: string, signal: AbortSignal) => Promise<Secret>;
  /** Receives Warning events of the pod. */
  readonly warn?: ((pod: Pod, reason: string, message: string) => void) | undefined;
}

const pluginName = 'kubernetes.io/flexvolume';
const directoryMode = 0o750;

export function flexVolumes(options: FlexVolumesOptions): VolumePlugin {
  const { host, rootDir, directory, run } = options;
  const drivers = new FlexDrivers({ directory, run });
  const pathOf = ({ podUid, innerName }: VolumeRemains): string =>
    podVolumeDirectory(rootDir, podUid, pluginName, innerName);
  const notes = new FlexNotes(host, rootDir, pluginName);
  const driverOf = (spec: VolumeSpec): string => sourceOf(spec)?.driver ?? '';
  /** Once for a mount, also if an earlier attempt failed after it. */
  const own = async ({ pod, spec, signal }: SetUpRequest, target: string): Promise<void> => {
    if (fsGroupOf(pod) === undefined || isReadOnly(spec)) return;
    const remains = { podUid: pod.metadata.uid, innerName: innerNameOf(spec) };
    try {
      if ((await notes.read(remains))?.isOwned === true) return;
      await giveToPodGroup({ ...options, host: hostApart(host, target) }, pod, target, signal);
      await notes.write(remains, { driver: driverOf(spec), isOwned: true });
    } catch (error) {
      // The driver has mounted it.
      throw new VolumeFailure('uncertain', errorText(error), { cause: error });
    }
  };
  return {
    name: pluginName,
    refreshes: false,
    ownsDirectory: true,
    supportsMountOptions: false,
    accepts: (spec) => sourceOf(spec) !== undefined,
    innerName: innerNameOf,
    problem: (spec) => {
      const driver = driverOf(spec);
      return isFlexDriverName(driver) ? undefined : `flexVolume.driver ${JSON.stringify(driver)} is no name`;
    },
    traits: (spec) => ({
      managed: !isReadOnly(spec),
      readOnly: isReadOnly(spec),
      relabel: drivers.known(driverOf(spec))?.relabel ?? true,
    }),
    hostPath: (spec, podUid) => pathOf({ podUid, innerName: innerNameOf(spec) }),
    async setUp(request) {
      const { pod, spec, signal } = request;
      const remains = { podUid: pod.metadata.uid, innerName: innerNameOf(spec) };
      const target = pathOf(remains);
      const driver = driverOf(spec);
      if (await isMountPoint(host, target)) {
        // A mount of an earlier run is good also while its driver is not.
        const known = await drivers.capabilities(driver, signal).catch(() => undefined);
        if (known?.fsGroup === true) await own(request, target);
        return;
      }
      const { attach, fsGroup } = await drivers.capabilities(driver, signal);
      if (attach) {
        const problem = `the flexVolume driver ${driver} wants its volumes attached, which nodelet does not do; use a CSI driver`;
        throw new VolumeFailure('transient', problem);
      }
      const told = await driverOptions(options, request);
      await notes.write(remains, { driver, isOwned: false });
      await host.files.mkdir(target, { mode: directoryMode, recursive: true });
      await drivers.mount(driver, target, told, signal);
      if (fsGroup) await own(request, target);
    },
    async tearDown(remains) {
      const target = pathOf(remains);
      const note = await notes.read(remains);
      if (note !== undefined && (await isThere(host, target))) await drivers.unmount(note.driver, target);
      // Also what a driver leaves to the kubelet.
      await cleanMountPoint(host, target);
      await notes.remove(remains);
    },
  };
}

/** What the driver is told of the volume and its pod, as one argument. */
async function driverOptions(options: FlexVolumesOptions, request: SetUpRequest): Promise<FlexOptions> {
  const { pod, spec } = request;
  const source = sourceOf(spec);
  const secret = await secretData(options, request);
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
      Object.entries(secret).map(([key, value]) => [`kubernetes.io/secret/${key}`, value]),
    ),
  });
  if (Buffer.byteLength(text) > flexLimits.optionsBytes) {
    throw new VolumeFailure('transient', `flexVolume.options has more than ${flexLimits.optionsBytes} bytes`);
  }
  return { text, secrets: Object.values(secret) };
}

/** The values are base64, so that none is changed. */
async function secretData(
  { readSecret }: FlexVolumesOptions,
  { pod, spec, signal }: SetUpRequest,
): Promise<Readonly<Record<string, string>>> {
  const { name, namespace } = secretOf(spec, pod);
  if (name === undefined) return {};
  const { driver = '' } = sourceOf(spec) ?? {};
  try {
    const { data = {}, type = 'Opaque' } = await readSecret(namespace, name, signal);
    // Whoever may write volumes must not have any secret read: its owner says which driver it is for.
    if (type !== driver)
      throw new Error(`its type is ${JSON.stringify(type)}, not ${JSON.stringify(driver)}`);
    return data;
  } catch (error) {
    const problem = `cannot read the secret ${namespace}/${name}: ${errorText(error)}`;
    throw new VolumeFailure('transient', problem, { cause: error });
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
