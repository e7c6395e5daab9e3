/** Decides whether a resize could ever be done on this node, whatever room it has. */
import { isCriticalPod, type Pod, qosClass, type ResourceRequirements } from '../../kube/index.js';
import { changesMemoryVolumes, sameAmount, sameRequirements } from './allocated-pod.js';

export interface ResizeRules {
  /** The gate InPlacePodVerticalScaling. */
  readonly resizes: boolean;
  /** The gate InPlacePodLevelResourcesVerticalScaling. */
  readonly resizesPodLevel: boolean;
  /** Whether volumes in memory can be resized: the gate InPlacePodVerticalScalingMemoryBackedVolumes, and cgroup v2. */
  readonly resizesVolumes: 'yes' | 'gate off' | 'cgroup v1';
  /** Whether containers of the node may use swap. */
  readonly swaps: boolean;
  /** Whether Guaranteed pods may have CPUs of their own, which a resize cannot change. */
  readonly pinsCpus: boolean;
  /** The same of memory of NUMA nodes. */
  readonly pinsMemory: boolean;
}

export interface ResizeInfeasibility {
  readonly message: string;
  /** The label of the metric. */
  readonly detail:
    | 'feature_gate_off'
    | 'swap_limitation'
    | 'plr_feature_gate_off'
    | 'memory_volume_resize_gate_off'
    | 'cgroups_v1_unsupported'
    | 'guaranteed_pod_cpu_manager_static_policy'
    | 'guaranteed_pod_memory_manager_static_policy';
}

/** Why the pod cannot be resized; undefined if only a lack of room could speak against it. */
export function resizeInfeasibility(
  desired: Pod,
  allocated: Pod,
  rules: ResizeRules,
): ResizeInfeasibility | undefined {
  if (!rules.resizes) {
    return { message: 'InPlacePodVerticalScaling is disabled', detail: 'feature_gate_off' };
  }
  const changes = containerChanges(desired, allocated);
  if (rules.swaps && changes.some((change) => isSwapInTheWay(desired, change))) {
    return {
      message: 'In-place resize of containers with swap is not supported.',
      detail: 'swap_limitation',
    };
  }
  if (!rules.resizesPodLevel && !sameRequirements(desired.spec.resources, allocated.spec.resources)) {
    return {
      message: 'InPlacePodLevelResourcesVerticalScaling is disabled',
      detail: 'plr_feature_gate_off',
    };
  }
  if (rules.resizesVolumes !== 'yes' && changesMemoryVolumes(allocated, desired)) {
    return rules.resizesVolumes === 'gate off'
      ? {
          message: 'Memory-backed emptyDir volume resize is disabled',
          detail: 'memory_volume_resize_gate_off',
        }
      : {
          message: 'Memory-backed emptyDir volume resize is not supported on cgroups v1',
          detail: 'cgroups_v1_unsupported',
        };
  }
  if (qosClass(desired) !== 'Guaranteed') return undefined;
  if (rules.pinsCpus && changes.some((change) => isRequestChanged(change, 'cpu'))) {
    return {
      message: 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
      detail: 'guaranteed_pod_cpu_manager_static_policy',
    };
  }
  if (rules.pinsMemory && changes.some((change) => isRequestChanged(change, 'memory'))) {
    return {
      message: 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
      detail: 'guaranteed_pod_memory_manager_static_policy',
    };
  }
  return undefined;
}

interface ContainerChange {
  readonly before: ResourceRequirements;
  readonly after: ResourceRequirements;
  readonly restartsForMemory: boolean;
}

function containerChanges(desired: Pod, allocated: Pod): ContainerChange[] {
  const containersOf = ({ spec }: Pod) => [...(spec.initContainers ?? []), ...spec.containers];
  const before = new Map(containersOf(allocated).map(({ name, resources }) => [name, resources]));
  return containersOf(desired).map(({ name, resources = {}, resizePolicy = [] }) => ({
    before: before.get(name) ?? {},
    after: resources,
    restartsForMemory: resizePolicy.some(
      ({ resourceName, restartPolicy }) => resourceName === 'memory' && restartPolicy === 'RestartContainer',
    ),
  }));
}

function isRequestChanged({ before, after }: ContainerChange, resource: 'cpu' | 'memory'): boolean {
  return !sameAmount(before.requests?.[resource] ?? '0', after.requests?.[resource] ?? '0');
}

/** The share of swap follows from the memory request, and cannot change while the container runs. */
function isSwapInTheWay(pod: Pod, change: ContainerChange): boolean {
  if (change.restartsForMemory || !isRequestChanged(change, 'memory')) return false;
  if (qosClass(pod) !== 'Burstable' || isCriticalPod(pod)) return false;
  return mayUseSwap(change.before) || mayUseSwap(change.after);
}

function mayUseSwap({ requests, limits }: ResourceRequirements): boolean {
  return !sameAmount(requests?.memory ?? '0', limits?.memory ?? '0');
}
