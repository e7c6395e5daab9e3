/** The bounds of pods' cgroups while the pods run: what they are, what they should be, and how one of them moves. */
import type { Pod } from '../../kube/index.js';
import type { CgroupState } from './hierarchy.js';
import { type CgroupValues, type PodCgroupSettings, podCgroupValues } from './values.js';

/** A bound that changes while the pod runs. */
export type MovableBound = 'memoryLimitBytes' | 'quotaMicros' | 'cpuShares';

/** Bounds that a pod's spec gives; a quota of -1 means none. */
export type WantedBounds = Partial<
  Pick<CgroupState, 'cpuShares' | 'quotaMicros' | 'periodMicros' | 'memoryLimitBytes'>
>;

export interface PodBoundsOptions {
  readonly settings: PodCgroupSettings;
  /** Whether a container of the pod has CPUs for itself. */
  readonly hasExclusiveCpus: (pod: Pod) => boolean;
  readonly read: (pod: Pod) => CgroupState;
  readonly update: (pod: Pod, values: CgroupValues) => Promise<void>;
  /** Has what pods share follow; never fails. */
  readonly moved: () => Promise<void>;
}

export class PodCgroupBounds {
  readonly #options: PodBoundsOptions;

  constructor(options: PodBoundsOptions) {
    this.#options = options;
  }

  /** Throws when the cgroup cannot be read. */
  read(pod: Pod): CgroupState {
    return this.#options.read(pod);
  }

  /** All that the pod's cgroup should have. */
  values(pod: Pod): CgroupValues {
    const { settings, hasExclusiveCpus } = this.#options;
    return podCgroupValues(pod, settings, hasExclusiveCpus(pod));
  }

  wanted(pod: Pod): WantedBounds {
    return wantedBounds(this.values(pod));
  }

  /** Moves one bound to where it is wanted. */
  async write(pod: Pod, bound: MovableBound): Promise<void> {
    const values = boundValues(this.values(pod), bound);
    if (values !== undefined) await this.#options.update(pod, values);
  }

  /** Bounds have moved. That costs a look at all pods, so it is done once, and no container waits for it. */
  moved(): Promise<void> {
    return this.#options.moved();
  }
}

/** A value of 0 would leave the cgroup as it is, so it bounds nothing. */
export function wantedBounds({ cpuShares, cpuQuota, memoryLimitBytes = 0 }: CgroupValues): WantedBounds {
  return {
    ...(cpuShares === undefined ? {} : { cpuShares }),
    ...(cpuQuota === undefined || cpuQuota.quotaMicros === 0 ? {} : cpuQuota),
    ...(memoryLimitBytes === 0 ? {} : { memoryLimitBytes }),
  };
}

/** The values to write for one bound; undefined if there is none. What protects or slows down memory goes with its limit. */
export function boundValues(wanted: CgroupValues, bound: MovableBound): CgroupValues | undefined {
  const { cpuShares, cpuQuota, memoryLimitBytes, hugePages, unified } = wanted;
  switch (bound) {
    case 'memoryLimitBytes':
      if (memoryLimitBytes === undefined) return undefined;
      return { memoryLimitBytes, ...(unified === undefined ? {} : { unified }), hugePages };
    case 'quotaMicros':
      return cpuQuota === undefined ? undefined : { cpuQuota, hugePages };
    case 'cpuShares':
      return cpuShares === undefined ? undefined : { cpuShares, hugePages };
  }
}
