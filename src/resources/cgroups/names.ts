/** The names of the cgroups that pods live in, in the notation of the cgroupfs driver. */
import { type Pod, type PodQOSClass, qosClass } from '../../kube/index.js';

export class CgroupNames {
  /** All pods. */
  readonly pods: string;
  readonly burstable: string;
  readonly bestEffort: string;

  constructor(
    /** Below which all others are, such as `/` or `/system/nodes`. */
    root: string,
  ) {
    this.pods = `/${[...root.split('/'), 'kubepods'].filter((part) => part !== '').join('/')}`;
    this.burstable = `${this.pods}/burstable`;
    this.bestEffort = `${this.pods}/besteffort`;
  }

  /** Where cgroups of pods are found. */
  get parents(): readonly string[] {
    return [this.pods, this.burstable, this.bestEffort];
  }

  ofPod(pod: Pod): string {
    return podCgroup(this.#parentOf(qosClass(pod)), pod.metadata.uid ?? '');
  }

  /** Pods without any demand and those with some have a parent of their own, those with all of it bounded have none. */
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

/** Whose cgroup the folder is; undefined when it is none of a pod. */
export function podUidOf(folder: string): string | undefined {
  return /^pod((?:(?!pod).)+)$/.exec(folder)?.[1];
}
