/** The names of the cgroups of pods and of the tiers that they are in. */
import { type Pod, type PodQOSClass, qosClass } from '../../kube/index.js';
import { type CgroupName, childOf, componentsOf } from './names.js';

const podPrefix = 'pod';

export class CgroupNames {
  /** The cgroup of all pods. */
  readonly pods: CgroupName;
  readonly burstable: CgroupName;
  readonly bestEffort: CgroupName;

  constructor(
    /** The parent of all others, such as `/` or `/system/nodes`. */
    root: string,
  ) {
    this.pods = childOf(componentsOf(root), 'kubepods');
    this.burstable = childOf(this.pods, 'burstable');
    this.bestEffort = childOf(this.pods, 'besteffort');
  }

  /** The cgroups that directly contain pod cgroups. */
  get parents(): readonly CgroupName[] {
    return [this.pods, this.burstable, this.bestEffort];
  }

  ofPod(pod: Pod): CgroupName {
    return podCgroup(this.#parentOf(qosClass(pod)), pod.metadata.uid);
  }

  /** BestEffort and Burstable pods have a parent cgroup of their own; Guaranteed pods do not. */
  #parentOf(qos: PodQOSClass): CgroupName {
    switch (qos) {
      case 'Guaranteed':
        return this.pods;
      case 'Burstable':
        return this.burstable;
      case 'BestEffort':
        return this.bestEffort;
    }
  }
}

export function podCgroup(parent: CgroupName, uid: string): CgroupName {
  return childOf(parent, `${podPrefix}${uid}`);
}

/** The pod of a cgroup by the last component of its name; undefined if no agent can have made it for a pod. */
export function podUidOf(component: string): string | undefined {
  return /^pod((?:(?!pod)[^/_])+)$/.exec(component)?.[1];
}
