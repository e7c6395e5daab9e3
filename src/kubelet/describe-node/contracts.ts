/** What `nodelet describe node` tells: plain data that survives JSON, with every list bounded. */
import type { NodeAddress, NodeCondition, PodQOSClass, ResourceList, Taint } from '../../kube/index.js';
import type { BoundedList, OutlookPod, SignalOutlook } from '../what-if/contracts.js';

export interface NodeDescription {
  readonly name: string;
  readonly system: {
    readonly kubeletVersion: string;
    readonly containerRuntimeVersion: string;
    readonly osImage: string;
    readonly kernelVersion: string;
    readonly architecture: string;
  };
  readonly addresses: readonly NodeAddress[];
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly conditions: readonly NodeCondition[];
  readonly pressure: NodePressure;
  /** In the order in which they are shown. */
  readonly resources: readonly DescribedResource[];
  readonly pods: BoundedList<DescribedPod>;
  readonly holdings: DescribedHoldings;
}

/** The signals that eviction watches. */
export interface NodePressure {
  /** Why nothing is evicted on this node at all; absent where eviction runs. */
  readonly off?: string;
  /** Why the signals cannot be read now. */
  readonly problem?: string;
  readonly signals: readonly Omit<SignalOutlook, 'pods' | 'reclaimFirst'>[];
}

/** All amounts are quantities. */
export interface DescribedResource {
  readonly name: string;
  readonly capacity: string;
  readonly systemReserved: string;
  readonly kubeReserved: string;
  /** Kept free by the hard thresholds of eviction. */
  readonly evictionReserved: string;
  /** Memory that is in huge pages and nobody can have otherwise. */
  readonly inHugePages: string;
  readonly allocatable: string;
  readonly requested: string;
  readonly limits: string;
  /** Allocatable less requested; below zero where the pods were admitted with less. */
  readonly free: string;
}

export interface DescribedPod extends OutlookPod {
  readonly qosClass: PodQOSClass;
  readonly priority: number;
  readonly requests: ResourceList;
  readonly limits: ResourceList;
}

/** What containers hold for themselves alone. */
export interface DescribedHoldings {
  /** The CPUs that all other containers share, such as `0-3`; absent where CPUs are not given out. */
  readonly sharedCpus?: string;
  readonly holders: BoundedList<DescribedHolder>;
}

export interface DescribedHolder extends OutlookPod, Omit<ContainerHolding, 'podUid'> {}

/** Parts of the machine that one container has for itself. */
export interface ContainerHolding {
  readonly podUid: string;
  /** Empty for what the pod has as a whole. */
  readonly container: string;
  /** Such as `4-7`. */
  readonly cpus?: string;
  readonly memory?: readonly HeldMemory[];
  readonly devices?: readonly HeldDevices[];
}

export interface HeldMemory {
  /** `memory` or `hugepages-…`. */
  readonly resource: string;
  readonly numaNodes: readonly number[];
  readonly bytes: number;
}

export interface HeldDevices {
  readonly resource: string;
  readonly ids: readonly string[];
}

/** One manager's word on who holds what. Managers of CPUs, memory and devices each give one. */
export interface ResourceHoldings {
  readonly sharedCpus?: string;
  readonly held: readonly ContainerHolding[];
}
