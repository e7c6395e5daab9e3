/** Gives volumes in memory the sizes that their pod is allocated. */
import { errorText, throwIfCancelled } from '../../async/index.js';
import { parseQuantity, quantityValue } from '../../kube/index.js';
import { podRef } from '../../timeline/index.js';
import type { SyncPorts, SyncRun } from '../apply.js';
import type { PlannedVolumeResize } from '../plan/pod-plan.js';
import type { ActuatedResources } from './actuated-resources.js';

/** Each size is recorded as soon as it is in force, so that the next try goes on from there. */
export async function resizeVolumes(
  { clock, timeline, resizeVolume }: SyncPorts,
  { pod, signal }: SyncRun,
  volumes: readonly PlannedVolumeResize[],
  actuated: ActuatedResources,
): Promise<void> {
  for (const { name, limit, because } of volumes) {
    const sizeBytes = quantityValue(parseQuantity(limit));
    const startedMs = clock.monotonic();
    try {
      if (resizeVolume === undefined) throw new Error('this runtime manager resizes no volumes');
      await resizeVolume(pod, name, sizeBytes, signal);
    } catch (cause) {
      throwIfCancelled(signal);
      throw new Error(`failed to resize volume ${name}: ${errorText(cause)}`, { cause });
    }
    actuated.setVolumeLimit(pod.metadata.uid, name, limit);
    timeline.record({
      kind: 'effect',
      what: 'volume.resize',
      message: `Changed the size of volume ${name} to ${limit}`,
      because,
      pod: podRef(pod),
      durationMs: clock.monotonic() - startedMs,
      data: { volume: name, sizeBytes: Number(sizeBytes) },
    });
  }
}
