/** Generates the status of a pod from what was observed of it and what the kubelet knows besides. */
import type { Clock } from '../../async/index.js';
import type { ObservedPodStatus } from '../../cri/index.js';
import {
  milliCpuOfShares,
  type Node,
  type Pod,
  type PodCondition,
  type PodStatus,
  parseIp,
  type ResourceRequirements,
  type ResourceStatus,
} from '../../kube/index.js';
import {
  generatePodStatus,
  hostIpsOf,
  type PodCgroupResources,
  type ProbeView,
  quotaToMillis,
  type ReasonCache,
} from '../../pods/status/index.js';
import type { PodCgroupResizing } from '../../runtime-manager/index.js';

export interface PodStatusGeneratorOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly statuses: { get(uid: string): PodStatus | undefined };
  /** Why containers could not be started last time. */
  readonly reasons: Pick<ReasonCache, 'get'>;
  readonly probes: ProbeView;
  /** The scheme of container ids, such as `containerd`. */
  readonly runtimeName: () => string;
  readonly supportsRecursiveReadOnly: (runtimeHandler: string) => boolean;
  /** The resources that a container was last given. */
  readonly actuated: { requirements(podUid: string, container: string): ResourceRequirements | undefined };
  /** What the pod's cgroup has; undefined where it cannot be read. */
  readonly podCgroup?: ((pod: Pod) => PodCgroupResources | undefined) | undefined;
  /** Whether the resize of a pod waits, and whether it is under way. */
  readonly resizeConditions?: (podUid: string) => readonly PodCondition[];
  /** How well the devices of a container are; absent: nobody knows. */
  readonly resourceHealth?: ((pod: Pod, container: string) => ResourceStatus[]) | undefined;
  readonly node: () => Node | undefined;
  readonly nodeIps: readonly string[] | undefined;
  readonly showsStopSignals: boolean;
  readonly showsVolumeImages: boolean;
  /** Called when the node's first address is of another family than the one that the pod's status had. */
  readonly onOtherHostFamily?: (pod: Pod, had: string, has: string) => void;
}

export type GenerateStatus = (pod: Pod, observed: ObservedPodStatus, podIsTerminal: boolean) => PodStatus;

export function createPodStatusGenerator(options: PodStatusGeneratorOptions): GenerateStatus {
  const { clock, statuses, reasons, probes, actuated, node, nodeIps, showsStopSignals, showsVolumeImages } =
    options;
  return (pod, observed, podIsTerminal) => {
    const uid = pod.metadata.uid;
    const handler = runtimeHandlerInUse(pod, observed);
    const cached = statuses.get(uid);
    const hostIps = hostIpsOf(node()?.status?.addresses ?? []);
    const [had, has] = [cached?.hostIP ?? pod.status?.hostIP, hostIps[0]];
    if (had !== undefined && has !== undefined && parseIp(had)?.family !== parseIp(has)?.family)
      options.onOtherHostFamily?.(pod, had, has);
    return generatePodStatus({
      pod,
      observed,
      cached,
      podIsTerminal,
      nowMs: clock.now(),
      runtimeName: options.runtimeName(),
      startFailure: (container) => reasons.get(uid, container),
      probes,
      nodeIps,
      hostIps,
      supportsRecursiveReadOnly:
        handler === undefined ? undefined : options.supportsRecursiveReadOnly(handler),
      showsStopSignals,
      showsVolumeImages,
      resourceHealth: (container) => options.resourceHealth?.(pod, container),
      resizeConditions: options.resizeConditions?.(uid),
      actuatedResources: (container) => actuated.requirements(uid, container),
      // Before the API shows the pod Running, its status has what was asked for.
      podCgroup: pod.status?.phase === 'Running' ? options.podCgroup?.(pod) : undefined,
    });
  };
}

/** The pod's runtime handler; undefined while a pod with a runtime class has no sandbox that tells it. */
export function runtimeHandlerInUse(pod: Pod, observed: ObservedPodStatus): string | undefined {
  return pod.spec.runtimeClassName ? observed.sandboxes[0]?.runtimeHandler : '';
}

/** Reads what a pod's cgroup has; undefined where it cannot be read, as for a pod that is about to get one. */
export function podCgroupReader(
  bounds: Pick<PodCgroupResizing, 'read'> | undefined,
): ((pod: Pod) => PodCgroupResources | undefined) | undefined {
  if (bounds === undefined) return undefined;
  return (pod) => {
    try {
      const { cpuShares, quotaMicros, periodMicros, memoryLimitBytes } = bounds.read(pod);
      return {
        cpuRequestMillis: milliCpuOfShares(cpuShares),
        cpuLimitMillis: quotaToMillis(quotaMicros, periodMicros),
        memoryLimitBytes: memoryLimitBytes > 0 ? memoryLimitBytes : undefined,
      };
    } catch {
      return undefined;
    }
  };
}
