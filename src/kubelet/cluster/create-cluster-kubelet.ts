/** A kubelet whose node is part of a cluster: gives every part of it what the API has for it, and the API what it does. */
import { type Clock, systemClock } from '../../async/index.js';
import type { Node } from '../../kube/index.js';
import { type KubeApi, withAuthorizerLagRetry } from '../../kube-client/index.js';
import type { StatusFacts } from '../../node/index.js';
import { ApiEventRecorder } from '../../pods/events/index.js';
import { ApiMirrorPods } from '../../pods/mirror/index.js';
import {
  ApiClaims,
  ApiObjectStore,
  ApiRuntimeClasses,
  ApiServices,
  ApiTrustBundles,
} from '../../pods/objects/cluster/index.js';
import { ApiSource } from '../../pods/sources/api.js';
import { ApiStatusSync } from '../../pods/status/api-sync.js';
import { PodStartLatency, statusSyncDuration } from '../../pods/status/api-sync-start-latency.js';
import { Timeline } from '../../timeline/index.js';
import { apiTokenRequests } from '../../volumes/tokens/api-token-requests.js';
import { CachedServiceAccountTokens } from '../../volumes/tokens/index.js';
import { CachedTrustBundles } from '../../volumes/trust-bundles/index.js';
import { createKubelet } from '../create.js';
import type { Kubelet } from '../kubelet.js';
import type { KubeletOptions } from '../options.js';
import type { KubeletContext } from '../settings.js';
import { createNodeParts, type NodeFlags, type NodeParts, type NodePartsOptions } from './create-node.js';
import { FreshNodeReader } from './fresh-node-reader.js';
import type { ClusterMember, KubeletInside } from './membership.js';

/** The API as a node uses it: clients that share connections and differ in their limits. */
export interface ClusterApis {
  readonly main: KubeApi;
  /** Waits for no rate limit, and gives up before the next beat is due. */
  readonly heartbeat: KubeApi;
  readonly events: KubeApi;
  /** The server may be dead behind a connection that is not. */
  resetConnections(): void;
}

export interface ClusterOptions
  extends Pick<
    NodePartsOptions,
    'onAddresses' | 'onReady' | 'declaredFeatures' | 'processStartMs' | 'network'
  > {
  readonly apis: ClusterApis;
  readonly flags: NodeFlags;
  /** The version that the node shows, such as `v1.36.4`. */
  readonly kubeletVersion: string;
  readonly pressure?: () => StatusFacts['pressure'];
}

export async function createClusterKubelet(
  given: KubeletOptions,
  cluster: ClusterOptions,
): Promise<Kubelet & { node(): Promise<Node> }> {
  const { apis } = cluster;
  const clock: Clock = given.clock ?? systemClock;
  const timeline = given.timeline ?? new Timeline({ clock });
  const random = given.random === undefined ? {} : { random: given.random };
  const shared = { clock, timeline, api: apis.main, ...random };
  // For what the node may have only because of its pods.
  const apiOfPods = withAuthorizerLagRetry(apis.main, clock);
  let parts: NodeParts | undefined;
  let latency: PodStartLatency | undefined;
  const stopping = new AbortController();
  const nodeRef = { name: given.nodeName };
  const reread = new FreshNodeReader({ api: apis.main, ref: nodeRef });
  const node = (): Node | undefined => reread.newest(parts?.informer?.get(nodeRef)) ?? parts?.known;

  const objects = new ApiObjectStore({
    ...shared,
    api: apiOfPods,
    strategy: given.config?.configMapAndSecretChangeDetectionStrategy ?? 'Watch',
    syncFrequencyMs: given.config?.syncFrequency ?? 60_000,
    ttlSeconds: () => annotatedTtlSeconds(node()),
  });
  const services = new ApiServices(shared);
  const runtimeClasses = new ApiRuntimeClasses(shared);
  const bundles = new ApiTrustBundles({ ...shared, onChange: () => trustBundles.invalidate() });
  const trustBundles = new CachedTrustBundles({
    clock,
    source: bundles,
    maxPods: given.config?.maxPods ?? 110,
  });
  const mirrors = new ApiMirrorPods({
    ...shared,
    // The cluster's own object: a mirror is owned by it.
    node: () => parts?.informer?.get(nodeRef),
    signal: stopping.signal,
  });

  const join = async (inside: KubeletInside): Promise<ClusterMember> => {
    const { context, pods, statuses, check, couldHaveRunningContainers, turns } = inside;
    const nodeParts = await createNodeParts(context, {
      declaredFeatures: declaredFeatures(context),
      ...cluster,
      api: apis,
      runtime: check,
    });
    parts = nodeParts;
    const started = new PodStartLatency({ clock, registry: context.registry });
    latency = started;
    followPulls(timeline, started, stopping.signal);
    const observeSync = statusSyncDuration(context.registry);
    const recorder = new ApiEventRecorder({
      ...shared,
      api: apis.events,
      nodeName: context.nodeName,
      podOf: (uid) => pods.byUid(uid),
      turns,
    });
    const sync = new ApiStatusSync({
      ...shared,
      statuses,
      pods,
      couldHaveRunningContainers,
      onSynced: (apiPod, sinceFirstChangeMs) => {
        started.written(apiPod);
        observeSync(sinceFirstChangeMs);
      },
    });
    return {
      open: (tasks) => tasks.start('the recorder of events', (signal) => recorder.run(signal)),
      startNode: (tasks) => {
        nodeParts.start(tasks);
        tasks.start('the node as it is known here', async () => void (await nodeParts.node()));
        tasks.start('the services of the cluster', (signal) => services.run(signal));
        tasks.start('the first mirrors of static pods', (signal) => mirrors.registerSoon(pods, signal));
      },
      startPods: (tasks) => {
        tasks.start('the statuses of pods', (signal) => sync.run(signal));
        tasks.start('the trust bundles of the cluster', (signal) => bundles.run(signal));
        tasks.start('the runtime classes of the cluster', (signal) => runtimeClasses.run(signal));
      },
      mirrorSeen: (staticPod) => sync.refresh(staticPod.metadata.uid ?? ''),
    };
  };

  const kubelet = await createKubelet({
    ...given,
    clock,
    timeline,
    objects,
    claims: new ApiClaims({ api: apiOfPods }),
    tokens: new CachedServiceAccountTokens({ clock, requestToken: apiTokenRequests(apiOfPods), ...random }),
    trustBundles,
    runtimeClasses,
    services,
    mirrors,
    node,
    join,
    sources: [
      ...(given.sources ?? []),
      {
        name: 'api',
        create: (context) =>
          new ApiSource({
            ...shared,
            nodeName: given.nodeName,
            deliver: async (snapshot, signal) => {
              latency?.sighted(snapshot.pods);
              await reread.beforeAdmission(snapshot.pods, node(), signal);
              await context.deliver(snapshot, signal);
            },
            nodeSynced: async (signal) => await parts?.informer?.synced(signal),
          }),
      },
    ],
  });
  return {
    ...kubelet,
    async stop() {
      stopping.abort();
      await kubelet.stop();
      await objects.stop();
    },
    node: async () => {
      const known = node();
      if (known !== undefined) return known;
      if (parts === undefined) throw new Error('the node is known once the kubelet is made');
      return await parts.node();
    },
  };
}

/** The time that images take is not the node's own; the container stands for its image. */
function followPulls(timeline: Timeline, latency: PodStartLatency, signal: AbortSignal): void {
  const unsubscribe = timeline.subscribe(({ pod, container = '', event }) => {
    if (pod === undefined || event === undefined) return;
    if (event.reason === 'Pulling') latency.pullStarted(pod.uid, container);
    else if (event.reason === 'Pulled' || event.reason === 'Failed') latency.pullEnded(pod.uid, container);
  });
  signal.addEventListener('abort', unsubscribe, { once: true });
}

/** Of the features that others ask a node for before they rely on them, those that are really there. */
function declaredFeatures({ gates, config }: KubeletContext): string[] {
  return [
    ...(gates.enabled('ExtendWebSocketsToKubelet') && config.enableServer
      ? ['ExtendWebSocketsToKubelet']
      : []),
    ...(gates.enabled('RestartAllContainersOnContainerExits')
      ? ['RestartAllContainersOnContainerExits']
      : []),
  ];
}

/** How long values may be cached here, as the cluster wishes it of this node. */
function annotatedTtlSeconds(node: Node | undefined): number | undefined {
  const text = node?.metadata.annotations?.['node.alpha.kubernetes.io/ttl'];
  return text === undefined || !/^\d{1,9}$/.test(text) ? undefined : Number(text);
}
