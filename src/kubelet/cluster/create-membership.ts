/** Builds a node's membership in a cluster: what the API is told of the node, its pods and their events. */

import type { KubeApi } from '../../kube-client/index.js';
import { ApiEventRecorder } from '../../pods/events/index.js';
import type { ApiPodMetrics } from '../../pods/index.js';
import type { ApiMirrorPods } from '../../pods/mirror/index.js';
import { ApiStatusSync } from '../../pods/status/api-sync.js';
import type { PodStartLatency } from '../../pods/status/api-sync-start-latency.js';
import type { ClusterMembership, MembershipDeps } from './membership.js';
import type { ClusterNode } from './node-options.js';

/** What follows objects of the API as long as it runs. */
interface Follower {
  run(signal: AbortSignal): Promise<void>;
}

export interface MembershipOptions {
  readonly apis: { readonly main: KubeApi; readonly events: KubeApi };
  readonly node: Pick<ClusterNode, 'start' | 'node' | 'sync' | 'informer'>;
  readonly latency: Pick<PodStartLatency, 'written'>;
  readonly metrics: ApiPodMetrics;
  readonly mirrors: Pick<ApiMirrorPods, 'registerSoon'>;
  readonly services: Follower;
  readonly trustBundles: Follower;
  readonly podCertificates: Follower;
  readonly runtimeClasses: Follower;
  readonly storage: readonly Follower[];
}

export function createMembership(
  { settings, pods, statuses, couldHaveRunningContainers, turns }: MembershipDeps,
  {
    apis,
    node,
    latency,
    metrics,
    mirrors,
    services,
    trustBundles,
    podCertificates,
    runtimeClasses,
    storage,
  }: MembershipOptions,
): ClusterMembership {
  const { clock, timeline, random, nodeName } = settings;
  const recorder = new ApiEventRecorder({
    api: apis.events,
    clock,
    timeline,
    random,
    nodeName,
    podOf: (uid) => pods.byUid(uid),
    nodeUid: () => node.informer?.get({ name: nodeName })?.metadata.uid,
    turns,
  });
  const sync = new ApiStatusSync({
    api: apis.main,
    clock,
    timeline,
    tracer: settings.tracer,
    random,
    statuses,
    pods,
    couldHaveRunningContainers,
    onSynced: (apiPod) => latency.written(apiPod),
    metrics,
  });
  return {
    startEvents: (tasks) => tasks.start('the recorder of events', (signal) => recorder.run(signal)),
    startNode: (tasks) => {
      node.start(tasks);
      tasks.start('the node as it is known here', async () => void (await node.node()));
      tasks.start('the services of the cluster', (signal) => services.run(signal));
      for (const part of storage) tasks.start('the storage of the cluster', (signal) => part.run(signal));
      tasks.start('the first mirrors of static pods', (signal) => mirrors.registerSoon(pods, signal));
    },
    startPods: (tasks) => {
      tasks.start('the statuses of pods', (signal) => sync.run(signal));
      tasks.start('the trust bundles of the cluster', (signal) => trustBundles.run(signal));
      tasks.start('the certificates of pods', (signal) => podCertificates.run(signal));
      tasks.start('the runtime classes of the cluster', (signal) => runtimeClasses.run(signal));
    },
    reportNode: (signal) => node.sync(signal),
    mirrorSeen: (staticPod) => sync.refresh(staticPod.metadata.uid),
  };
}
