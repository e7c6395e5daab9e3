/** The cgroup names of pods, in the notation of the cgroupfs driver. */
import { type Pod, type PodQOSClass, qosClass } from '../../kube/index.js';

export class CgroupNames {
  /** The cgroup of all pods. */
  readonly pods: string;
  readonly burstable: string;
  readonly bestEffort: string;

  constructor(
    /** The parent of all others, such as `/` or `/system/nodes`. */
    root: string,
  ) {
    this.pods = `/${[...root.split('/'), 'kubepods'].filter((part) => part !== '').join('/')}`;
    this.burstable = `${this.pods}/burstable`;
    this.bestEffort = `${this.pods}/besteffort`;
  }

  /** The cgroups that directly contain pod cgroups. */
  get parents(): readonly string[] {
    return [this.pods, this.burstable, this.bestEffort];
  }

  ofPod(pod: Pod): string {
    return podCgroup(this.#parentOf(qosClass(pod)), pod.metadata.uid);
  }

  /** BestEffort and Burstable pods have a parent cgroup of their own; Guaranteed pods do not. */
  #parentOf(qos: PodQOSClass): string {
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

export function podCgroup(parent: string, uid: string): string {
  return `${parent}/pod${uid}`;
}

/** The pod of a cgroup directory; undefined if it is not a pod's. */
export function podUidOf(folder: string): string | undefined {
  return /^pod((?:(?!pod).)+)$/.exec(folder)?.[1];
}
