/** Moves one bound of a pod's cgroup: tells the sandbox first, and takes that back if the cgroup refuses. */
import { errorText } from '../../async/index.js';
import { podRef } from '../../timeline/index.js';
import type { SyncPorts, SyncRun } from '../apply.js';
import type { PodBound, PodBounds, PodCgroupResizing } from '../contracts.js';
import type { ResizedResource } from './decide-resize.js';
import { withBound } from './pod-bound-order.js';
import { tellSandbox } from './tell-sandbox.js';

/** The pod's cgroup during one resize. */
export class ResizedPodCgroup {
  readonly #ports: SyncPorts;
  readonly #run: SyncRun;
  readonly #cgroups: PodCgroupResizing;
  readonly wanted: Partial<PodBounds>;
  #current: PodBounds;
  #hasMoved = false;

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
    const isTold = !this.#ports.sandboxUpdates.isIgnored;
    if (isTold) await tellSandbox(this.#ports, this.#run, resource, next);
    try {
      await this.#cgroups.write(pod, bound);
    } catch (error) {
      if (isTold) await this.#takeBack(resource);
      throw new Error(`failed to change the ${resource} of the pod's cgroup: ${errorText(error)}`, {
        cause: error,
      });
    }
    this.#current = next;
    this.#hasMoved = true;
  }

  /** At the end of the resize, whatever became of it. */
  async settle(): Promise<void> {
    if (this.#hasMoved) await this.#cgroups.moved?.();
  }

  /**
   * Tells the sandbox what the pod will have, where its runtime did not know the call before: it may have been replaced by
   * one that does. That is worth no wait, so it is done beside the update of the containers, and never fails.
   */
  async tellBeside(resource: ResizedResource, bounds: readonly PodBound[]): Promise<void> {
    if (bounds.length === 0 || !this.#ports.sandboxUpdates.isIgnored) return;
    let next = this.#current;
    for (const bound of bounds) next = withBound(next, this.wanted, bound);
    await this.#tryToTell(resource, next, `The sandbox could not be told of the ${resource} of its pod`);
  }

  /** The failure of the cgroup is what the user must know, so that of the sandbox is only recorded. */
  async #takeBack(resource: ResizedResource): Promise<void> {
    const message = `The sandbox could not be told that the ${resource} of its pod stays as it was`;
    await this.#tryToTell(resource, this.#current, message);
  }

  async #tryToTell(resource: ResizedResource, bounds: PodBounds, message: string): Promise<void> {
    try {
      await tellSandbox(this.#ports, this.#run, resource, bounds);
    } catch (error) {
      this.#ports.timeline.record({
        kind: 'problem',
        what: 'sandbox.resize',
        message,
        pod: podRef(this.#run.pod),
        data: { sandboxId: this.#run.plan.sandboxId },
        error,
      });
    }
  }
}
