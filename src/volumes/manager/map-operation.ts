/** Maps one block volume for one pod: the checks, the shared device, the plugin's part, and the device in the pod's directory. */
import { errorText } from '../../async/index.js';
import type { Host } from '../../host/index.js';
import type { VolumeStep } from '../../timeline/index.js';
import { type DeviceMap, forgetDevice, mapDevice, noteDevice } from '../block/index.js';
import { type BlockVolumes, VolumeFailure, type VolumePlugin } from '../contracts.js';
import { FailedMount, isUsedByAnotherPod, refusedAttach } from './mount-operation.js';
import { type NodeIdentity, nodeAffinityProblem } from './node-affinity.js';
import { failureClass } from './outcome.js';
import {
  type ActualDevice,
  type ActualMount,
  type ActualState,
  mountKey,
  type WantedMount,
} from './states.js';

export interface MapOperation {
  readonly host: Host;
  readonly wanted: WantedMount;
  readonly plugin: VolumePlugin;
  readonly map: DeviceMap;
  readonly isRemount: boolean;
  readonly node: NodeIdentity;
  /** The current state. */
  readonly actual: ActualState;
  /** Called on each change of the shared device. */
  readonly onDevice: (device: ActualDevice) => void;
  /** Called when a step of the volume's driver begins. */
  readonly onStep: (step: VolumeStep) => void;
}

/** Rejects with FailedMount. */
export async function runMap(operation: MapOperation, signal: AbortSignal): Promise<void> {
  const { host, wanted, plugin, map, actual } = operation;
  const block = mapperOf(operation);
  const { spec } = wanted;
  await block.prepare(spec).catch((error: unknown) => {
    throw notBegun(wanted, 'MapVolume.NewBlockVolumeMapper initialization failed', error);
  });
  // From here on something is on disk, which goes with the device.
  if (!actual.devices.has(wanted.uniqueName)) operation.onDevice({ ...deviceOf(wanted), state: 'uncertain' });
  if (isUsedByAnotherPod(wanted, actual)) {
    const problem = 'volume uses the ReadWriteOncePod access mode and is already in use by another pod';
    throw notBegun(wanted, 'MapVolume.SetUpDevice failed', new Error(problem));
  }
  if (plugin.attaching?.isNeeded(spec)) {
    operation.onStep('attach');
    await plugin.attaching.verify(spec, signal).catch((error: unknown) => {
      throw (
        refusedAttach(wanted.innerName, error) ?? notBegun(wanted, 'MapVolume.WaitForAttach failed', error)
      );
    });
  }
  await setUpDevice(operation, block, signal);
  const path = await mapPodDevice(operation, block, signal);
  const device = await host.files.realpath(path).catch((error: unknown) => {
    throw failed(wanted, 'MapVolume.EvalHostSymlinks failed', uncertain(error));
  });
  operation.onDevice({ ...deviceOf(wanted), state: 'mounted', devicePath: device });
  await mapDevice(host, map, device).catch((error: unknown) => {
    throw failed(wanted, 'MapVolume.MapBlockVolume failed', uncertain(error));
  });
}

function mapperOf({ wanted, plugin, node }: MapOperation): BlockVolumes {
  const { spec, innerName } = wanted;
  const misplaced = spec.kind === 'persistent' ? nodeAffinityProblem(spec.persistentVolume, node) : undefined;
  if (misplaced !== undefined) {
    const problem = new VolumeFailure('transient', misplaced);
    throw new FailedMount('MapVolume.NodeAffinity check failed', innerName, problem);
  }
  if (plugin.block !== undefined) return plugin.block;
  const problem = `volumes of ${plugin.name} cannot be block devices; use one with volumeMode Filesystem`;
  throw notBegun(wanted, 'MapVolume.FindMapperPluginBySpec failed', new Error(problem));
}

async function setUpDevice(
  { wanted, plugin, actual, onDevice, onStep }: MapOperation,
  block: BlockVolumes,
  signal: AbortSignal,
): Promise<void> {
  if (actual.devices.get(wanted.uniqueName)?.state === 'mounted') return;
  onStep('stage');
  await plugin.devices?.attach?.(wanted.spec, wanted.pod, signal).catch((error: unknown) => {
    throw notBegun(wanted, 'MapVolume.WaitForAttach failed', error);
  });
  try {
    await block.setUpDevice(wanted.spec, signal);
  } catch (error) {
    if (failureClass(error) === 'uncertain') onDevice({ ...deviceOf(wanted), state: 'uncertain' });
    throw notBegun(wanted, 'MapVolume.SetUpDevice failed', error);
  }
  onDevice({ ...deviceOf(wanted), state: 'mounted' });
}

async function mapPodDevice(
  { host, wanted, map, isRemount, actual, onStep }: MapOperation,
  block: BlockVolumes,
  signal: AbortSignal,
): Promise<string> {
  const { pod, spec, innerName } = wanted;
  const before = actual.mounts.get(mountKey(wanted));
  onStep('publish');
  try {
    await noteDevice(host, map);
    const path = await block.mapPodDevice({ pod, spec, isRemount, signal });
    if (path !== '') return path;
  } catch (error) {
    const failure = withWhatIsKnown(error, before);
    if (failureClass(failure) !== 'uncertain' && before === undefined) await forgetDevice(host, map);
    throw failed(wanted, 'MapVolume.MapPodDevice failed', failure);
  }
  const problem = uncertain(new Error('device path of the volume is empty'));
  throw new FailedMount('MapVolume failed', innerName, problem, 'FailedMapVolume');
}

/** What an earlier attempt has bound stays known until it is taken down. */
function withWhatIsKnown(error: unknown, before: ActualMount | undefined): unknown {
  return before?.state === 'uncertain' && failureClass(error) === 'final' ? uncertain(error) : error;
}

function deviceOf({ uniqueName, pluginName, innerName, mode }: WantedMount): Omit<ActualDevice, 'state'> {
  return { uniqueName, pluginName, innerName, mode };
}

function uncertain(error: unknown): VolumeFailure {
  return new VolumeFailure('uncertain', errorText(error), { cause: error });
}

function failed({ innerName }: WantedMount, step: string, error: unknown): FailedMount {
  return new FailedMount(step, innerName, error, 'FailedMapVolume');
}

/** Nothing was done for the pod: what it had, it has. */
function notBegun(wanted: WantedMount, step: string, error: unknown): FailedMount {
  return failed(wanted, step, new VolumeFailure('transient', errorText(error), { cause: error }));
}
