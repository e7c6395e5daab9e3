/** Moves one bound of a pod's cgroup: tells the sandbox first, and takes that back if the cgroup refuses. */
import { errorText } from '../../async/index.js';
import { podRef } from '../../timeline/index.js';
import type { SyncPorts, SyncRun } from '../apply.js';
import type { PodBound, PodBounds, PodCgroupResizing } from '../contracts.js';
import type { ResizedResource } from './decide-resize.js';
import { withBound } from './pod-bound-order.js';

/** The pod's cgroup during one resize. */
export class ResizedPodCgroup {
  readonly #ports: SyncPorts;
  readonly #run: SyncRun;
  readonly #cgroups: PodCgroupResizing;
  readonly wanted: Partial<PodBounds>;
  #current: PodBounds;

  constructor(ports: SyncPorts, run: SyncRun, cgroups: PodCgroupResizing, current: PodBounds) {
    this.#ports = ports;
    this.#run = run;
    this.#cgroups = cgroups;
    this.#current = current;
    this.wanted = cgroups.wanted(run.pod);
  }

  get current(): PodBounds {
    return this.#current;
  }

  async move(resource: ResizedResource, bound: PodBound): Promise<void> {
    const { pod } = this.#run;
    const next = withBound(this.#current, this.wanted, bound);
    await tellSandbox(this.#ports, this.#run, resource, next);
    try {
      await this.#cgroups.write(pod, bound);
    } catch (error) {
      await this.#takeBack(resource);
      throw new Error(`failed to change the ${resource} of the pod's cgroup: ${errorText(error)}`, {
        cause: error,
      });
    }
    this.#current = next;
  }

  /** The failure of the cgroup is what the user must know, so that of the sandbox is only recorded. */
  async #takeBack(resource: ResizedResource): Promise<void> {
    try {
      await tellSandbox(this.#ports, this.#run, resource, this.#current);
    } catch (error) {
      this.#ports.timeline.record({
        kind: 'problem',
        what: 'sandbox.resize',
        message: `The sandbox could not be told that the ${resource} of its pod stays as it was`,
        pod: podRef(this.#run.pod),
        data: { sandboxId: this.#run.plan.sandboxId },
        error,
      });
    }
  }
}

/** Without bounds, the sandbox is told what the pod's containers have together. */
export async function tellSandbox(
  { configs, cri }: SyncPorts,
  { pod, plan, signal }: SyncRun,
  resource: ResizedResource,
  bounds?: PodBounds,
): Promise<void> {
  const { sandboxId } = plan;
  const { resources, overhead } = configs.podResources(pod, bounds);
  try {
    await cri.updatePodSandboxResources({ podSandboxId: sandboxId, resources, overhead }, { signal });
  } catch (error) {
    const what = `failed to notify runtime for UpdatePodSandboxResources (resource=${resource}); resize rejected`;
    // "sanboxID" is how the reference kubelet spells it, and log filters match its text.
    const message = `${what}: updatePodSandboxResources failed for sanboxID "${sandboxId}": ${errorText(error)}`;
    throw new Error(message, { cause: error });
  }
}
