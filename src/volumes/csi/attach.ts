/** Reads whether the cluster has attached a volume to this node. */
import { errorText } from '../../async/index.js';
import { GrpcCode } from '../../grpc/index.js';
import { NodeCannotAttach, VolumeFailure } from '../contracts.js';
import { attachmentName, type DriverVolume } from './names.js';
import type { CsiAttachment, CsiVolumesOptions } from './plugin.js';

export type AttachOptions = Pick<CsiVolumesOptions, 'nodeName' | 'objects' | 'controllerAttaches'>;

/** Rejects with a transient failure unless the volume is attached. */
export async function verifyAttached(
  { nodeName, objects, controllerAttaches }: AttachOptions,
  volume: DriverVolume,
  signal: AbortSignal,
): Promise<CsiAttachment> {
  if (!controllerAttaches || objects === undefined) throw new NodeCannotAttach();
  const name = attachmentName(volume, nodeName);
  let attachment: CsiAttachment;
  try {
    attachment = await objects.attachment(name, signal);
  } catch (error) {
    throw new VolumeFailure(
      'transient',
      `volume ${volume.handle} has GET error for volume attachment ${name}: ${errorText(error)}`,
      { cause: error },
    );
  }
  if (attachment.isDeleting) throw new VolumeFailure('transient', 'volume attachment is being deleted');
  if (!attachment.attached) {
    const text = attachment.error ?? `volume ${volume.handle} is not attached for volume attachment ${name}`;
    throw new VolumeFailure('transient', text);
  }
  return attachment;
}

/** What the controller passes on to the node; empty for volumes that need no attaching. */
export async function publishContext(
  options: AttachOptions & Pick<CsiVolumesOptions, 'policies'>,
  volume: DriverVolume,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const policy = options.policies.get(volume.driver);
  if (policy === undefined) throw new VolumeFailure('transient', 'the CSIDriver objects are not known yet');
  return policy.attachRequired ? (await verifyAttached(options, volume, signal)).metadata : {};
}

/**
 * Whether the volume is not attached because the node has no room for another one. Only drivers whose number of volumes is
 * kept up to date count: with the old number, the scheduler would send the next pod here, too. The number is then updated.
 */
export async function isLimitReached(
  options: AttachOptions & Pick<CsiVolumesOptions, 'policies' | 'refreshAllocatable'>,
  volume: DriverVolume,
  signal: AbortSignal,
): Promise<boolean> {
  const { nodeName, objects, policies, refreshAllocatable } = options;
  const period = policies.get(volume.driver)?.nodeAllocatableUpdatePeriodSeconds;
  if (period === undefined || objects === undefined) return false;
  const attachment = await objects
    .attachment(attachmentName(volume, nodeName), signal)
    .catch((): undefined => undefined);
  if (attachment?.errorCode !== GrpcCode.ResourceExhausted) return false;
  await refreshAllocatable?.(volume.driver, signal);
  return true;
}
