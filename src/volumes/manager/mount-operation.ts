/** Mounts one volume of one pod: the checks, the shared device and the plugin's set-up. */
import { errorText } from '../../async/index.js';
import { goQuote } from '../../kube/index.js';
import type { VolumeStep } from '../../timeline/index.js';
import { NodeCannotAttach, VolumeFailure, type VolumePlugin } from '../contracts.js';
import { type NodeIdentity, nodeAffinityProblem } from './node-affinity.js';
import { failureClass } from './outcome.js';
import type { ActualDevice, ActualState, WantedMount } from './states.js';

/** A failed mount, with the message for users. */
export class FailedMount extends VolumeFailure {
  constructor(
    step: string,
    innerName: string,
    problem: unknown,
    readonly eventReason: 'FailedMount' | 'FailedMapVolume' | 'FailedAttachVolume' = 'FailedMount',
  ) {
    super(failureClass(problem), `${step} for volume ${goQuote(innerName)} : ${errorText(problem)}`, {
      cause: problem,
    });
  }
}

export interface MountOperation {
  readonly wanted: WantedMount;
  readonly plugin: VolumePlugin;
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
export async function runMount(operation: MountOperation, signal: AbortSignal): Promise<void> {
  const { wanted, plugin, isRemount, onStep } = operation;
  const refusal = mountRefusal(operation);
  if (refusal !== undefined) throw refusal;
  const { pod, spec, innerName, seLinuxLabel } = wanted;
  if (plugin.attaching?.isNeeded(spec)) {
    onStep('attach');
    await plugin.attaching.verify(spec, signal).catch((error: unknown) => {
      throw (
        refusedAttach(innerName, error) ??
        new FailedMount('MountVolume.WaitForAttach failed', innerName, error)
      );
    });
  }
  if (wanted.hasDevice) await mountDevice(operation, signal);
  onStep('publish');
  await plugin.setUp({ pod, spec, isRemount, seLinuxLabel, signal }).catch((error: unknown) => {
    throw new FailedMount('MountVolume.SetUp failed', innerName, error);
  });
}

/** What users are told where no controller attaches volumes, and the node cannot. */
export function refusedAttach(innerName: string, error: unknown): FailedMount | undefined {
  if (!(error instanceof NodeCannotAttach)) return undefined;
  return new FailedMount('AttachVolume.Attach failed', innerName, error, 'FailedAttachVolume');
}

/** Why the volume may not be mounted, or undefined. Nothing was begun, so what an earlier attempt may have mounted stays known. */
export function mountRefusal({
  wanted,
  plugin,
  node,
  actual,
}: Pick<MountOperation, 'wanted' | 'plugin' | 'node' | 'actual'>): FailedMount | undefined {
  const { spec, innerName } = wanted;
  if (spec.kind !== 'persistent') return undefined;
  const { persistentVolume } = spec;
  const misplaced = nodeAffinityProblem(persistentVolume, node);
  if (misplaced !== undefined) {
    return new FailedMount('MountVolume.NodeAffinity check failed', innerName, notBegun(misplaced));
  }
  if ((persistentVolume.spec.mountOptions ?? []).length > 0 && !plugin.supportsMountOptions) {
    const problem = 'mount options are not supported for this volume type';
    return new FailedMount('MountVolume.MountOptionSupport check failed', innerName, notBegun(problem));
  }
  if (isUsedByAnotherPod(wanted, actual)) {
    const problem = 'volume uses the ReadWriteOncePod access mode and is already in use by another pod';
    return new FailedMount('MountVolume.SetUp failed', innerName, notBegun(problem));
  }
  return undefined;
}

const notBegun = (problem: string): VolumeFailure => new VolumeFailure('transient', problem);

/** Whether the volume is for one pod only, and another one has it. */
export function isUsedByAnotherPod(
  { podUid, pluginName, innerName, spec }: WantedMount,
  { mounts }: ActualState,
): boolean {
  if (spec.kind !== 'persistent') return false;
  const { accessModes = [] } = spec.persistentVolume.spec;
  if (accessModes.length !== 1 || accessModes[0] !== 'ReadWriteOncePod') return false;
  return [...mounts.values()].some(
    (mount) => mount.pluginName === pluginName && mount.innerName === innerName && mount.podUid !== podUid,
  );
}

async function mountDevice(
  { wanted, plugin, actual, onDevice, onStep }: MountOperation,
  signal: AbortSignal,
): Promise<void> {
  const { uniqueName, pluginName, innerName, mode, spec, pod, seLinuxLabel } = wanted;
  if (plugin.devices === undefined || actual.devices.get(uniqueName)?.state === 'mounted') return;
  const device = { uniqueName, pluginName, innerName, mode, seLinuxLabel };
  const failed = (step: string) => (error: unknown) => {
    if (failureClass(error) === 'uncertain') onDevice({ ...device, state: 'uncertain' });
    throw new FailedMount(step, innerName, error);
  };
  onStep('stage');
  await plugin.devices.attach?.(spec, pod, signal).catch(failed('MountVolume.WaitForAttach failed'));
  const { fsGroup } = pod.spec.securityContext ?? {};
  await plugin.devices
    .mountDevice(spec, signal, { fsGroup, seLinuxLabel })
    .catch(failed('MountVolume.MountDevice failed'));
  onDevice({ ...device, state: 'mounted' });
}
