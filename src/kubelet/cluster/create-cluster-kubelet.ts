/** Builds a kubelet whose node is part of a cluster: gives its rooms what the API has for them, and the API what they do. */
import { type Clock, systemClock } from '../../async/index.js';
import type { Node } from '../../kube/index.js';
import { type KubeApi, resources, withAuthorizerLagRetry } from '../../kube-client/index.js';
import { Registry } from '../../metrics/index.js';
import { createApiPodMetrics } from '../../pods/index.js';
import { ApiMirrorPods } from '../../pods/mirror/index.js';
import {
  ApiClaims,
  ApiObjectStore,
  ApiRuntimeClasses,
  ApiServices,
  ApiTrustBundles,
} from '../../pods/objects/cluster/index.js';
import { PodStartLatency } from '../../pods/status/api-sync-start-latency.js';
import { apiDynamicResources } from '../../resources/dra/api/index.js';
import { Timeline } from '../../timeline/index.js';
import {
  ApiCsiNode,
  ApiDriverPolicies,
  ApiHealthNotice,
  apiCsiObjects,
} from '../../volumes/csi/api/index.js';
import { PodCertificateManager } from '../../volumes/pod-certificates/manager.js';
import { registerPodCertificateStates } from '../../volumes/pod-certificates/metrics.js';
import { apiTokenRequests } from '../../volumes/tokens/api-token-requests.js';
import { CachedServiceAccountTokens } from '../../volumes/tokens/index.js';
import { CachedTrustBundles } from '../../volumes/trust-bundles/index.js';
import { createKubelet } from '../create.js';
import type { Kubelet } from '../kubelet.js';
import { Link } from '../link.js';
import { pressureFacts } from '../node/node-settings.js';
import type { KubeletOptions } from '../options.js';
import { type Outside, plainOutside } from '../outside.js';
import { apiPods } from './api-pods.js';
import { createMembership } from './create-membership.js';
import { createNode } from './create-node.js';
import { CurrentNode } from './current-node.js';
import { declaredFeatures } from './declared-features.js';
import type { MembershipDeps } from './membership.js';
import { nodeAttachments } from './node-attachments.js';
import type { ClusterNode, NodeFlags, NodeOptions } from './node-options.js';
import { annotatedTtlSeconds } from './object-ttl.js';
import { followPulls } from './pull-times.js';

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
  extends Pick<NodeOptions, 'onAddresses' | 'onReady' | 'declaredFeatures' | 'processStartMs' | 'network'> {
  readonly apis: ClusterApis;
  readonly flags: NodeFlags;
  /** The version that the node shows, such as `v1.37.1`. */
  readonly kubeletVersion: string;
}

/** The server behind them is one, but each has limits of its own. */
function outsideApis(outside: Outside, given: ClusterApis): ClusterApis {
  return {
    main: outside.port('api', () => given.main),
    heartbeat: outside.port('heartbeat api', () => given.heartbeat),
    events: outside.port('events api', () => given.events),
    resetConnections: () => given.resetConnections(),
  };
}

export async function createClusterKubelet(
  given: KubeletOptions,
  cluster: ClusterOptions,
): Promise<Kubelet & { node(): Promise<Node> }> {
  const { nodeName, random } = given;
  const clock: Clock = given.clock ?? systemClock;
  const outside = given.outside ?? plainOutside(clock);
  const apis = outsideApis(outside, cluster.apis);
  const timeline = given.timeline ?? new Timeline({ clock });
  const registry = given.registry ?? new Registry();
  const shared = { clock, timeline, api: apis.main, random };
  // For what the node may have only because of its pods.
  const apiOfPods = withAuthorizerLagRetry(apis.main, clock);
  const stopping = new AbortController();

  // The cycle: the kubelet asks for its node, which is built from the kubelet's settings and its check of the runtime.
  const nodeLink = new Link<ClusterNode>('the node');
  const node = new CurrentNode({ api: apis.main, clock, nodeName, node: nodeLink });
  const metrics = createApiPodMetrics(registry);
  const latency = new PodStartLatency({ clock, metrics });
  followPulls(timeline, latency, stopping.signal);

  const objects = new ApiObjectStore({
    ...shared,
    api: apiOfPods,
    strategy: given.config?.configMapAndSecretChangeDetectionStrategy ?? 'Watch',
    syncFrequencyMs: given.config?.syncFrequency ?? 60_000,
    ttlSeconds: () => annotatedTtlSeconds(node.known()),
  });
  const services = new ApiServices(shared);
  const runtimeClasses = new ApiRuntimeClasses(shared);
  const bundles = new ApiTrustBundles({ ...shared, onChange: () => trustBundles.invalidate() });
  const trustBundles = new CachedTrustBundles({
    clock,
    source: bundles,
    maxPods: given.config?.maxPods ?? 110,
    random,
  });
  // The cycle: the kubelet's volumes ask for certificates, which are kept as long as the kubelet has their pods.
  const joined = new Link<Pick<MembershipDeps, 'pods' | 'volumes'>>('the membership');
  const podCertificates = new PodCertificateManager({
    ...shared,
    api: apiOfPods,
    nodeName,
    nodeUid: () => node.followed()?.metadata.uid,
    isPodKnown: (uid) => joined.ifConnected?.pods.byUid(uid) !== undefined,
    onSettled: () => joined.ifConnected?.volumes.driverReady?.('kubernetes.io/projected'),
  });
  registerPodCertificateStates(registry, () => podCertificates.states());
  const mirrors = new ApiMirrorPods({
    ...shared,
    // The cluster's own object: a mirror is owned by it.
    node: () => node.followed(),
    signal: stopping.signal,
  });

  const policies = new ApiDriverPolicies(shared);
  const csiNode = given.podDirectories === false ? undefined : new ApiCsiNode({ ...shared, nodeName });

  const kubelet = await createKubelet({
    ...given,
    clock,
    timeline,
    registry,
    objects,
    claims: new ApiClaims({ api: apiOfPods }),
    tokens: new CachedServiceAccountTokens({ clock, requestToken: apiTokenRequests(apiOfPods), random }),
    serviceAccount: async (namespace, name, signal) => {
      const { metadata } = await apiOfPods.get(resources.serviceAccounts, { namespace, name }, { signal });
      return { uid: metadata.uid ?? '', annotations: metadata.annotations ?? {} };
    },
    trustBundles,
    podCertificates,
    runtimeClasses,
    services,
    mirrors,
    csi: {
      policies,
      objects: apiCsiObjects(apiOfPods),
      health: new ApiHealthNotice({ api: apiOfPods, clock, nodeName }),
      attachments: nodeAttachments(apis.main, nodeName, () => node.known()),
      ...(csiNode === undefined ? {} : { notice: csiNode }),
      ...given.csi,
    },
    dra: { api: apiDynamicResources(apiOfPods, nodeName), ...given.dra },
    node: () => node.known() ?? nodeLink.ifConnected?.atFirst,
    join: async (deps) => {
      joined.connect(deps);
      policies.onChange(() => deps.volumes.attachmentsChanged?.());
      const built = await createNode(deps.settings, {
        declaredFeatures: declaredFeatures(deps.settings),
        pressure: () => pressureFacts(deps.pressure()),
        ...(deps.devices === undefined
          ? {}
          : { devices: deps.devices.capacity, devicesKnown: deps.devices.isKnown }),
        ...cluster,
        api: apis,
        runtime: deps.check,
        shutdownError: () => deps.shutdownError(),
        storageError: () => csiNode?.error,
        volumesInUse: () => deps.volumes.volumesInUse?.(),
        onVolumesReported: (names) => deps.volumes.volumesReported?.(names),
        onNode: () => deps.volumes.attachmentsChanged?.(),
        isCpuQuotaAvailable: deps.settings.host.isCpuQuotaAvailable,
      });
      return createMembership(deps, {
        apis,
        node: nodeLink.connect(built),
        latency,
        metrics,
        mirrors,
        services,
        trustBundles: bundles,
        podCertificates,
        runtimeClasses,
        storage: csiNode === undefined ? [policies] : [policies, csiNode],
      });
    },
    sources: [...(given.sources ?? []), apiPods({ ...shared, nodeName, node, latency })],
  });
  return {
    ...kubelet,
    async stop() {
      stopping.abort();
      await kubelet.stop();
      await objects.stop();
    },
    node: () => node.get(),
  };
}
