/** The pod resources API: what each of its calls answers. */
import type { Clock } from '../../async/index.js';
import { CallRate, GrpcError, type GrpcService } from '../../grpc/index.js';
import type { Pod } from '../../kube/index.js';
import {
  alphaPodResources,
  type ListedDevice,
  type ListedMemory,
  podResources,
  type ResourceSources,
  wireDevices,
  wireMemory,
} from './answers.js';
import {
  type AllocatableResourcesResponse,
  type GetPodResourcesRequest,
  type GetPodResourcesResponse,
  type ListPodResourcesResponse,
  PodResourcesLister,
} from './gen/pod-resources.js';
import { PodResourcesLister as AlphaLister, type ListAlphaResponse } from './gen/pod-resources-alpha.js';
import type { PodResourcesMetrics } from './metrics.js';

export interface PodResourcesOptions extends ResourceSources {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics: PodResourcesMetrics;
  /** Those that may use resources. */
  readonly activePods: () => readonly Pod[];
  readonly allPods: () => readonly Pod[];
  /** Whether `List` leaves out pods that use nothing any more: the gate KubeletPodResourcesListUseActivePods. */
  readonly listsActivePods: boolean;
  /** What may be given out, held or not. */
  readonly allocatable: {
    devices(): readonly ListedDevice[];
    cpus(): readonly number[];
    memory(): readonly ListedMemory[];
  };
}

export function podResourcesServices(options: PodResourcesOptions): readonly GrpcService[] {
  const { metrics, activePods, allPods, allocatable } = options;
  const rate = new CallRate(options.clock);
  const v1 = { server_api_version: 'v1' };
  const alpha = { server_api_version: 'v1alpha1' };
  /** The record of a pod that has ended is kept until the next admission; its devices are free all the same. */
  const devicesOfActive = (active: readonly Pod[]): ResourceSources['devices'] => {
    const uids = new Set(active.map(({ metadata }) => metadata.uid));
    return (uid, container) => (uids.has(uid) ? options.devices(uid, container) : []);
  };
  return [
    {
      methods: PodResourcesLister,
      implementation: {
        list: async (): Promise<ListPodResourcesResponse> => {
          rate.admit();
          metrics.requests.inc(v1);
          metrics.lists.inc(v1);
          const active = activePods();
          const sources = { ...options, devices: devicesOfActive(active) };
          const pods = options.listsActivePods ? active : allPods();
          return { podResources: pods.map((pod) => podResources(pod, sources)) };
        },
        getAllocatableResources: async (): Promise<AllocatableResourcesResponse> => {
          rate.admit();
          metrics.requests.inc(v1);
          metrics.allocatable.inc(v1);
          return {
            devices: wireDevices(allocatable.devices()),
            cpuIds: [...allocatable.cpus()],
            memory: allocatable.memory().map(wireMemory),
          };
        },
        get: async ({ podName, podNamespace }: GetPodResourcesRequest): Promise<GetPodResourcesResponse> => {
          rate.admit();
          metrics.requests.inc(v1);
          metrics.gets.inc(v1);
          const pod = activePods().find(
            ({ metadata }) => metadata.name === podName && metadata.namespace === podNamespace,
          );
          if (pod === undefined) {
            metrics.getErrors.inc(v1);
            throw new GrpcError('Unknown', `pod ${podName} in namespace ${podNamespace} not found`);
          }
          return { podResources: podResources(pod, options) };
        },
      },
    },
    {
      methods: AlphaLister,
      implementation: {
        list: async (): Promise<ListAlphaResponse> => {
          rate.admit();
          metrics.requests.inc(alpha);
          const devices = devicesOfActive(activePods());
          return { podResources: allPods().map((pod) => alphaPodResources(pod, { devices })) };
        },
      },
    },
  ];
}
