/** Generates a pod's API status from its spec, the runtime's state and its earlier status. */
import type { ObservedPodStatus } from '../../cri/index.js';
import {
  type ContainerStatus,
  orderPodIps,
  type Pod,
  type PodCondition,
  type PodStatus,
  qosClass,
  type ResourceRequirements,
  type ResourceStatus,
} from '../../kube/index.js';
import { podAddresses } from './addresses.js';
import { podConditions } from './conditions.js';
import { type ContainerStatusContext, containerStatuses } from './containers.js';
import { isPastActiveDeadline, overridePhase } from './overrides.js';
import { podPhase } from './phase.js';
import { aggregatePodRequests, type PodCgroupResources, podLevelResources } from './pod-resources.js';
import { type ProbeView, withInitProbeResults, withProbeResults } from './readiness.js';
import type { ContainerStartFailure } from './reason-cache.js';
import { isRestartingAll } from './restartable.js';
import { hasActiveRegularContainer } from './sandbox.js';

export interface GenerateInput {
  /** The pod with its allocated resources; its `status` is the API's. */
  readonly pod: Pod;
  readonly observed: ObservedPodStatus;
  /** The status manager's status of the pod. */
  readonly cached?: PodStatus | undefined;
  /** No container of the pod will be started any more. */
  readonly podIsTerminal: boolean;
  readonly nowMs: number;
  /** The scheme of container ids, such as `containerd`. */
  readonly runtimeName: string;
  /** Why the container could not be started last time, from the reason cache. */
  readonly startFailure?: ((container: string) => ContainerStartFailure | undefined) | undefined;
  /** Without it containers are started and ready when they run. */
  readonly probes?: ProbeView | undefined;
  /** The node's configured addresses; the first one's family comes first in pod addresses. */
  readonly nodeIps?: readonly string[] | undefined;
  /** The node's addresses from its API object (`hostIpsOf`); none without an API. */
  readonly hostIps?: readonly string[] | undefined;
  /** Whether the pod's runtime handler supports recursive read-only mounts. Default: no. */
  readonly supportsRecursiveReadOnly?: boolean | undefined;
  /** Whether statuses include the container's stop signal. Default: no. */
  readonly showsStopSignals?: boolean | undefined;
  readonly showsVolumeImages?: boolean | undefined;
  /** The resources last applied to a container. */
  readonly actuatedResources?: ((container: string) => ResourceRequirements | undefined) | undefined;
  readonly podCgroup?: PodCgroupResources | undefined;
  /** Health of the devices of a regular container. */
  readonly resourceHealth?: ((container: string) => ResourceStatus[] | undefined) | undefined;
  readonly resizeConditions?: readonly PodCondition[] | undefined;
}

/** The status manager sets `startTime` and `observedGeneration`. */
export function generatePodStatus(input: GenerateInput): PodStatus {
  const { pod, observed, podIsTerminal, nowMs } = input;
  const api: PodStatus = pod.status ?? {};
  const old = input.cached ?? api;
  const context: ContainerStatusContext = {
    pod,
    observed,
    runtimeName: input.runtimeName,
    isRestartingAll: isRestartingAll(pod, observed, old),
    startFailure: input.startFailure ?? (() => undefined),
    supportsRecursiveReadOnly: input.supportsRecursiveReadOnly,
    showsStopSignals: input.showsStopSignals,
    showsVolumeImages: input.showsVolumeImages,
    actuatedResources: input.actuatedResources,
  };
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const regular = containerStatuses('container', containers, old.containerStatuses, context);
  const init = containerStatuses('initContainer', initContainers, old.initContainerStatuses, context);
  const ephemeral = containerStatuses(
    'ephemeralContainer',
    ephemeralContainers,
    old.ephemeralContainerStatuses,
    context,
  );

  const computed = podPhase({
    pod,
    statuses: [...regular, ...init],
    podIsTerminal,
    isInitialized: hasActiveRegularContainer(pod, observed),
  });
  const isPastDeadline = isPastActiveDeadline(pod, old.startTime, nowMs);
  const { phase, reason, message } = overridePhase({ computed, old, api, isPastDeadline });

  const probedInit = withInitProbeResults(pod, init, input.probes);
  const probed = withProbeResults(pod, regular, input.probes).map((status) =>
    withHealth(status, input.resourceHealth?.(status.name)),
  );
  const allocatedResources = aggregatePodRequests(pod);
  return {
    phase,
    conditions: podConditions({
      pod,
      observed,
      old,
      phase,
      statuses: [...probedInit, ...probed],
      podIsTerminal,
      resizeConditions: input.resizeConditions,
    }),
    ...(message === '' ? {} : { message }),
    ...(reason === '' ? {} : { reason }),
    ...podAddresses(pod, orderPodIps(observed.ips, input.nodeIps ?? []), input.hostIps ?? []),
    ...(probedInit.length === 0 ? {} : { initContainerStatuses: probedInit }),
    containerStatuses: probed,
    ...(ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: ephemeral }),
    qosClass: qosClass(pod),
    ...(Object.keys(allocatedResources).length === 0 ? {} : { allocatedResources }),
    resources: podLevelResources(pod, old, input.podCgroup),
  };
}

function withHealth(status: ContainerStatus, health: ResourceStatus[] | undefined): ContainerStatus {
  return health === undefined || health.length === 0
    ? status
    : { ...status, allocatedResourcesStatus: health };
}
