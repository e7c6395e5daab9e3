/** The pods that the API binds to this node, as a source of the kubelet. */
import type { Clock } from '../../async/index.js';
import type { KubeApi } from '../../kube-client/index.js';
import { ApiSource } from '../../pods/sources/api.js';
import type { PodStartLatency } from '../../pods/status/api-sync-start-latency.js';
import type { Timeline } from '../../timeline/index.js';
import type { AddedSource } from '../options.js';
import type { CurrentNode } from './current-node.js';

export interface ApiPodsOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly random?: () => number;
  readonly nodeName: string;
  readonly node: Pick<CurrentNode, 'refreshFor' | 'synced'>;
  readonly latency: Pick<PodStartLatency, 'sighted'>;
}

/** Admission follows a delivery at once, so the node is made fresh enough for the pods before. */
export function apiPods({ node, latency, ...shared }: ApiPodsOptions): AddedSource {
  return {
    name: 'api',
    isInside: true,
    create: ({ deliver }) =>
      new ApiSource({
        ...shared,
        deliver: async (snapshot, signal) => {
          latency.sighted(snapshot.pods);
          await node.refreshFor(snapshot.pods, signal);
          await deliver(snapshot, signal);
        },
        nodeSynced: (signal) => node.synced(signal),
      }),
  };
}
