/** Tells a sandbox what its pod has as a whole, and remembers whether the runtime has any use for that. */
import { errorText } from '../../async/index.js';
import { forgivenError } from '../../cri/index.js';
import { podRef } from '../../timeline/index.js';
import type { SyncPorts, SyncRun } from '../apply.js';
import type { PodBounds } from '../contracts.js';
import { recordFailure } from '../fault-entry.js';
import type { ResizedResource } from './decide-resize.js';

/** What the runtime's answers have shown. */
export interface SandboxUpdates {
  /** Whether it did not know the call when it was last asked. No resize waits for its answer then. */
  isIgnored: boolean;
}

/** Without bounds, the sandbox is told what the pod's containers have together. */
export async function tellSandbox(
  { configs, cri, sandboxUpdates, timeline }: SyncPorts,
  { pod, plan, signal }: SyncRun,
  resource: ResizedResource,
  bounds?: PodBounds,
): Promise<void> {
  const { sandboxId } = plan;
  const { resources, overhead } = configs.podResources(pod, bounds);
  try {
    const request = { podSandboxId: sandboxId, resources, overhead };
    const refusal = forgivenError(await cri.updatePodSandboxResources(request, { signal }));
    const wasIgnored = sandboxUpdates.isIgnored;
    sandboxUpdates.isIgnored = refusal !== undefined;
    if (!wasIgnored) recordFailure(timeline, 'updatePodSandboxResources', refusal, { pod: podRef(pod) });
  } catch (error) {
    sandboxUpdates.isIgnored = false;
    const what = `failed to notify runtime for UpdatePodSandboxResources (resource=${resource}); resize rejected`;
    // "sanboxID" is how the reference kubelet spells it, and log filters match its text.
    const message = `${what}: updatePodSandboxResources failed for sanboxID "${sandboxId}": ${errorText(error)}`;
    throw new Error(message, { cause: error });
  }
}
