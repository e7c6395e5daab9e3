/** What the topology manager asks of those who give out CPUs, memory and devices. */
import type { AnyContainer, Pod } from '../../kube/index.js';

/**
 * A set of NUMA nodes: bit i is the i-th node of the machine by ascending id. A number holds it, since no machine
 * whose masks can be enumerated has more than 30 nodes.
 */
export type NumaMask = number;

export interface TopologyHint {
  /** `undefined`: any node will do. */
  readonly mask: NumaMask | undefined;
  readonly preferred: boolean;
}

/**
 * For each resource the masks that could serve it. `undefined` has no preference; an empty list means that no mask
 * can serve it.
 */
export type ResourceHints = ReadonlyMap<string, readonly TopologyHint[] | undefined>;

export type AllocationOutcome =
  | { readonly kind: 'allocated' }
  /** `reason` is set if the refusal has a reason of its own. */
  | { readonly kind: 'refused'; readonly reason?: string; readonly message: string }
  /** Not yet: the pod is to be judged again when `until` resolves, and others go on meanwhile. */
  | { readonly kind: 'pending'; readonly until: Promise<void>; readonly message: string };

export const allocated: AllocationOutcome = { kind: 'allocated' };

export interface HintProvider {
  readonly name: string;
  /** Whether it gives hints for a pod that is to be resized, too. The default is no: others keep what they gave. */
  readonly hintsOnResize?: boolean;
  /** `undefined`: no preference for anything. */
  containerHints(pod: Pod, container: AnyContainer): ResourceHints | undefined;
  /** For the pod as a whole. */
  podHints(pod: Pod): ResourceHints | undefined;
  /** Gives the container what it asks for, near `hint`. Asking again for a container that has it changes nothing. */
  allocate(
    pod: Pod,
    container: AnyContainer,
    hint: TopologyHint,
    signal: AbortSignal,
  ): AllocationOutcome | Promise<AllocationOutcome>;
  /**
   * Gives a pod with resources of its own all that it and its containers get, near `hint`. Called instead of `allocate`
   * in scope `pod` while the gate PodLevelResourceManagers is on; who lacks it gives such a pod nothing at admission.
   */
  allocatePod?(
    pod: Pod,
    hint: TopologyHint,
    signal: AbortSignal,
  ): AllocationOutcome | Promise<AllocationOutcome>;
}
