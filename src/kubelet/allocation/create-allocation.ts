/** Builds what knows of the resources that pods are given, from what the kubelet knows of its pods and of the runtime. */
import type { Gate, TaskGroup } from '../../async/index.js';
import type { ObservedPodStatus } from '../../cri/index.js';
import type { Pod, PodCondition, ResourceRequirements } from '../../kube/index.js';
import type { PodManager } from '../../pods/desired/index.js';
import {
  AllocatedResources,
  createAllocationMetrics,
  type ResourcesInForce,
} from '../../resources/allocation/index.js';
import type { RuntimeManager } from '../../runtime-manager/index.js';
import type { ActuatedResources } from '../../runtime-manager/resize/index.js';
import { declaredFeatures } from '../cluster/declared-features.js';
import type { KubeletSettings } from '../settings.js';
import { AllocationAdmission, type AllocationAdmissionOptions } from './allocation-admission.js';
import { AllocationManager, type AllocationManagerOptions } from './allocation-manager.js';
import { reconstructAllocated } from './reconstruct.js';
import { ResizeStates } from './resize-states.js';

export type AllocationSettings = Pick<
  KubeletSettings,
  'clock' | 'timeline' | 'registry' | 'config' | 'gates' | 'host' | 'rootDir' | 'durable' | 'podDirectories'
>;

export interface AllocationRooms
  extends Pick<AllocationManagerOptions, 'allSourcesReady' | 'sync'>,
    Pick<AllocationAdmissionOptions, 'active' | 'handlers' | 'makeRoom'> {
  readonly tasks: TaskGroup;
  readonly pods: PodManager;
  readonly actuated: ActuatedResources;
  readonly allocated: AllocatedResources;
  readonly states: ResizeStates;
  readonly turns: Gate;
  readonly peek: (uid: string) => { readonly status: ObservedPodStatus } | { readonly error: Error };
}

/** The store, which others read before there is anybody to admit pods. */
export function createAllocated(
  settings: Pick<
    AllocationSettings,
    'clock' | 'timeline' | 'registry' | 'rootDir' | 'durable' | 'podDirectories' | 'gates'
  >,
  pods: Pick<PodManager, 'byUid'>,
) {
  const { clock, timeline, registry, rootDir, durable } = settings;
  const allocated = new AllocatedResources({
    checkpoint: settings.podDirectories ? { rootDir, store: durable } : undefined,
    hasVolumes: settings.gates.enabled('InPlacePodVerticalScalingMemoryBackedVolumes'),
  });
  const metrics = registry.once(createAllocationMetrics);
  const states = new ResizeStates({ clock, timeline, metrics, podOf: (uid) => pods.byUid(uid) });
  registry.onCollect(() => states.count());
  return { allocated, states };
}

/** What a sync of a pod tells, and is told, of its resources. */
export function syncAllocation({
  allocated,
  states,
  runtime,
}: Pick<AllocationRooms, 'allocated' | 'states'> & {
  readonly runtime: Pick<RuntimeManager, 'isResizeInProgress'>;
}) {
  return {
    syncBegins(pod: Pod, observed: ObservedPodStatus): boolean {
      // The pod was given something else since this sync was asked for: the next one tells.
      if (allocated.differs(pod)) return false;
      const isInProgress = runtime.isResizeInProgress(pod, observed);
      states.syncBegins(pod, isInProgress);
      return isInProgress && allocated.isRecorded(pod.metadata.uid);
    },
    resizeFailed: (pod: Pod, message: string): void => states.failed(pod, message),
    recorded: (uid: string): Promise<void> => allocated.recorded(uid),
    resizeConditions: (uid: string): readonly PodCondition[] => states.conditions(uid),
  };
}

/** Who judges pods, and who has resizes judged again until there is room. */
export function createAllocation(settings: AllocationSettings, rooms: AllocationRooms) {
  const { clock, timeline, registry, config, gates, host } = settings;
  const { actuated, peek } = rooms;
  const metrics = registry.once(createAllocationMetrics);
  const admission = new AllocationAdmission({
    ...rooms,
    timeline,
    metrics,
    rules: {
      resizes: gates.enabled('InPlacePodVerticalScaling'),
      resizesPodLevel: gates.enabled('InPlacePodLevelResourcesVerticalScaling'),
      resizesVolumes: !gates.enabled('InPlacePodVerticalScalingMemoryBackedVolumes')
        ? 'gate off'
        : host.cgroupVersion === 2
          ? 'yes'
          : 'cgroup v1',
      swaps:
        config.memorySwap.swapBehavior === 'LimitedSwap' &&
        host.isSwapControllerAvailable &&
        host.cgroupVersion === 2,
      pinsCpus:
        config.cpuManagerPolicy === 'static' && !gates.enabled('InPlacePodVerticalScalingExclusiveCPUs'),
      pinsMemory:
        config.memoryManagerPolicy === 'Static' && !gates.enabled('InPlacePodVerticalScalingExclusiveMemory'),
    },
    preemptsForResizes: !gates.enabled('InPlacePodVerticalScalingSchedulerPreemption'),
    inForce: (pod) => inForceOf(pod, actuated, peek),
    reconstruct: (pod) => {
      const { uid } = pod.metadata;
      const seen = peek(uid);
      if (!('status' in seen)) return undefined;
      return reconstructAllocated(pod, {
        actuated: (name) => (actuated.has(uid) ? actuated.requirements(uid, name) : undefined),
        actuatedPod: actuated.podRequirements(uid),
        actuatedVolume: (name) => actuated.volumeLimit(uid, name),
        observed: seen.status,
      });
    },
  });
  const features = declaredFeatures({ gates, config });
  const manager = new AllocationManager({ ...rooms, clock, timeline, metrics, admission, features });
  return { admission, manager };
}

function inForceOf(
  { metadata: { uid } }: Pod,
  actuated: ActuatedResources,
  peek: AllocationRooms['peek'],
): ResourcesInForce {
  const seen = peek(uid);
  const running = new Set(
    'status' in seen
      ? seen.status.containers.filter(({ state }) => state === 'running').map(({ name }) => name)
      : [],
  );
  return {
    container: (name): ResourceRequirements | undefined =>
      running.has(name) ? actuated.requirements(uid, name) : undefined,
    pod: running.size === 0 ? undefined : actuated.podRequirements(uid),
  };
}
