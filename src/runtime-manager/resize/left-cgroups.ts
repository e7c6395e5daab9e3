/** Finds pods whose cgroup an earlier agent could not lower: it looks at each pod that runs on, once. */
import type { ObservedPodStatus } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import type { PodCgroupResizing } from '../contracts.js';
import type { ActuatedResources } from './actuated-resources.js';
import { isResizeInProgress } from './in-progress.js';
import { hasLeftBounds } from './left-bounds.js';
import type { ResizeRetries } from './resize-retries.js';

export interface LeftCgroupsPorts {
  readonly podCgroups: PodCgroupResizing | undefined;
  readonly actuated: ActuatedResources | undefined;
  readonly resizeRetries: ResizeRetries;
}

/**
 * A container that restarts is recorded with its new resources, although its pod's cgroup could not be lowered before. Only
 * the memory of the agent tells that, so the next agent looks at the cgroup itself.
 */
export class LeftCgroups {
  readonly #ports: LeftCgroupsPorts;
  readonly #compared = new Set<string>();

  constructor(ports: LeftCgroupsPorts) {
    this.#ports = ports;
  }

  compare(pod: Pod, { uid, containers }: ObservedPodStatus): void {
    const { podCgroups, resizeRetries, actuated } = this.#ports;
    if (podCgroups === undefined || actuated === undefined || this.#compared.has(uid)) return;
    this.#compared.add(uid);
    const running = new Set(containers.flatMap(({ name, state }) => (state === 'running' ? [name] : [])));
    const isRunning = (name: string): boolean => running.has(name);
    // A resize that the records tell of sees to the cgroup, too.
    if (running.size === 0 || isResizeInProgress({ pod, isRunning, actuated })) return;
    try {
      if (hasLeftBounds(podCgroups.read(pod), podCgroups.wanted(pod))) resizeRetries.left(pod);
    } catch {
      // A cgroup that cannot be read is the business of those who make it; nothing is known of its bounds.
    }
  }

  forget(uid: string): void {
    this.#compared.delete(uid);
  }
}
