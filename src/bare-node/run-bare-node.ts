/** A node that is its own cluster: its API, the agent as its node, and the controllers, in one process. */
import path from 'node:path';
import {
  type AgentOptions,
  createAgent,
  kubernetesVersion,
  type OpenCluster,
  StartFailure,
} from '../agent/index.js';
import { type Clock, errorText, systemClock } from '../async/index.js';
import type { LoadedConfiguration } from '../config/index.js';
import { createControllers } from '../controllers/index.js';
import { linuxHost } from '../host/index.js';
import { ObjectFiles } from '../kube-api/files/object-files.js';
import {
  ApiHandler,
  Discovery,
  LocalKubeApi,
  openApiResponses,
  ownersGroup,
  PostedObjects,
  postedKinds,
  postedResponses,
  ServedApi,
  Storage,
  scaleResponses,
  servedKinds,
  serverFacts,
  tablePrinter,
  usageKinds,
  usageResponses,
} from '../kube-api/index.js';
import { detectNodeAddress, type Kubelet } from '../kubelet/index.js';
import { recordedDurableFiles } from '../kubelet/start-up/durable-files.js';
import { kubernetesArchitecture } from '../node/index.js';
import type { StatsProvider } from '../resources/stats/index.js';
import { podRoutes, type ServerListener } from '../server/index.js';
import type { Route } from '../server/routes.js';
import { createServices, ServiceAddresses } from '../services/index.js';
import { Timeline } from '../timeline/index.js';
import { startApiListener } from './api-listener.js';
import { type NodeAuthority, openAuthority } from './authority.js';
import { createApiEndpoint, createFirstObjects } from './first-objects.js';
import { kubeconfigText, mergedKubeconfig, ownerKubeconfig } from './kubeconfig.js';
import { openLocalServer } from './local-server.js';
import { ApiManifests, type FollowManifestsOptions } from './manifests/follow-manifests.js';
import { serviceAccountTokens } from './service-account-tokens.js';
import { UsageMeter } from './usage/usage-meter.js';

export interface BareNodeOptions {
  /** Of the agent, as a node of a cluster. */
  readonly configuration: LoadedConfiguration;
  readonly nodeName: string;
  /** Holds the objects, the certificates and the kubeconfig. */
  readonly stateDir: string;
  readonly address: string;
  /** 0: any free port. */
  readonly port: number;
  readonly clock?: Clock;
  readonly timeline?: Timeline;
  /** The range of the virtual addresses of Services. */
  readonly serviceCidr: string;
  readonly clusterDomain: string;
  /** Whether pods have addresses of their own; if not, they share the host's. */
  readonly podNetwork: boolean;
  /** Puts our entries into a user's kubeconfig: it gets a function from the text that is there to the new one. */
  readonly mergeKubeconfig?: ((merged: (existing: string) => string) => Promise<void>) | undefined;
  /** Files and directories whose objects the API has, followed as they change. */
  readonly manifests?: Pick<FollowManifestsOptions, 'inputs' | 'onNews' | 'follows'> | undefined;
  /** Where the agent's log goes. Default: standard error of this process. */
  readonly logSink?: AgentOptions['logSink'];
  /** Called when the node runs pods. */
  readonly onReady?: (node: ReadyNode) => void;
  /** Awaited when the signal has aborted and the manifests are followed no more, while the node still runs. */
  readonly beforeStop?: (api: LocalKubeApi) => Promise<void>;
  /** Called when the API answers, before the node is ready. */
  readonly onServing: (facts: { readonly server: string; readonly kubeconfigFile: string }) => void;
}

export interface ReadyNode {
  readonly kubelet: Kubelet;
  readonly api: LocalKubeApi;
}

/** Kinds that live as long as the process: they say what is the case now. */
const transient: ReadonlySet<string> = new Set(['events', 'leases']);

/** Resolves when everything has stopped. Rejects with a StartFailure when the node cannot run. */
export async function runBareNode(options: BareNodeOptions, signal: AbortSignal): Promise<void> {
  const { stateDir, nodeName, clock = systemClock, timeline = new Timeline({ clock }) } = options;
  const durable = recordedDurableFiles({ files: linuxHost().files, clock, timeline, nodeName });
  const storage = new Storage();
  const files = new ObjectFiles({
    dir: path.join(stateDir, 'objects'),
    files: durable,
    clock,
    kept: servedKinds.map(({ resource }) => resource).filter(({ plural }) => !transient.has(plural)),
    onFailure: (file, error) =>
      timeline.record({
        kind: 'problem',
        what: 'server.api',
        message: `${file} cannot be written; it is tried again`,
        error,
      }),
  });
  await files.open(storage).catch((error: unknown) => {
    throw new StartFailure(`cannot read the objects below ${stateDir}: ${errorText(error)}`, {
      cause: error,
    });
  });
  try {
    const api = new ServedApi({
      clock,
      storage,
      serviceAddresses: new ServiceAddresses(options.serviceCidr),
      keep: (change) => files.written(change),
    });
    const { kubernetesAddress, dnsAddress } = new ServiceAddresses(options.serviceCidr);
    await createFirstObjects(api, { apiServiceIp: kubernetesAddress, dnsServiceIp: dnsAddress });
    const authority = await openAuthority({
      dir: path.join(stateDir, 'pki'),
      files: durable,
      clock,
      ownersGroup,
      names: servingNames(options, kubernetesAddress),
    });
    await serve(api, authority, { ...options, clock, timeline }, signal);
  } finally {
    await files.close();
  }
}

type ServingOptions = BareNodeOptions & { readonly clock: Clock; readonly timeline: Timeline };

async function serve(
  api: ServedApi,
  authority: NodeAuthority,
  options: ServingOptions,
  signal: AbortSignal,
): Promise<void> {
  const { address, clock, timeline, clusterDomain, serviceCidr, stateDir } = options;
  const issuer = `https://kubernetes.default.svc.${clusterDomain}`;
  const tokens = serviceAccountTokens({ keyPem: authority.tokenKeyPem, issuer, clock, api });
  const posted = new PostedObjects(api, tokens);
  const local = new LocalKubeApi(api, posted);
  let running: { readonly routes: readonly Route[]; readonly stats: StatsProvider } | undefined;
  const shownKinds = [...api.kinds, ...usageKinds];
  const usage = new UsageMeter({ nodeName: options.nodeName, clock, stats: () => running?.stats, signal });
  const listener = await startApiListener({
    api,
    handler: new ApiHandler({
      api,
      discovery: new Discovery({
        kinds: shownKinds,
        posted: postedKinds,
        serverAddress: `${address}:${options.port}`,
      }),
      printer: tablePrinter,
      others: [
        serverFacts({ kubernetesVersion, platform: `linux/${kubernetesArchitecture(process.arch)}` }),
        openApiResponses({ kinds: shownKinds, kubernetesVersion }),
        postedResponses(api, posted),
        scaleResponses(api),
        usageResponses({ api, reader: usage, printer: tablePrinter }),
      ],
    }),
    authority,
    tokens,
    kubeletRoutes: () => running?.routes,
    address,
    port: options.port,
    clock,
    timeline,
  }).catch((error: unknown) => {
    throw new StartFailure(
      `cannot serve the API on ${address}:${options.port}: ${errorText(error)}; stop what listens there, or choose another --port`,
      { cause: error },
    );
  });
  try {
    await createApiEndpoint(api, { address, port: listener.address()?.port ?? options.port });
    await announce(listener, authority, options);
    const agent = createAgent({
      configuration: options.configuration,
      openCluster: () => Promise.resolve(inProcess(local)),
      ...(options.logSink === undefined ? {} : { logSink: options.logSink }),
    });
    const stop = new AbortController();
    let lastWork: Promise<void> = Promise.resolve();
    const forward = (): void => {
      lastWork = (options.beforeStop?.(local) ?? Promise.resolve()).finally(() => stop.abort(signal.reason));
      // Whoever awaits the run hears of it.
      lastWork.catch(() => undefined);
    };
    if (signal.aborted) return;
    signal.addEventListener('abort', forward, { once: true });
    const nodeIp = (await detectNodeAddress()) ?? address;
    const agentRun = agent.run(stop.signal);
    const controlling = createControllers({
      api: local,
      clock,
      timeline,
      nodeName: options.nodeName,
      rootCa: authority.caPem,
      kinds: api.kinds.map(({ resource }) => resource),
    }).run(stop.signal);
    const services = createServices({
      api: local,
      clock,
      timeline,
      nodeIp,
      clusterCidr: serviceCidr,
      clusterDomain,
    }).run(stop.signal);
    const { manifests } = options;
    // A node whose manifests cannot be followed is not what was asked for; one that stops follows none.
    const following =
      manifests === undefined
        ? new Promise<never>(() => undefined)
        : new ApiManifests({ api, clock, ...manifests }).run(signal);
    let socket: ServerListener | undefined;
    const serving = agent.ready().then(
      async (kubelet) => {
        const routes = podRoutes(kubelet, { splitLogStreams: true, translateStreams: true });
        running = { routes, stats: kubelet.stats };
        options.onReady?.({ kubelet, api: local });
        socket = await openLocalServer(kubelet, options);
      },
      // Whoever awaits the run hears of it.
      () => undefined,
    );
    try {
      await Promise.race([agentRun, controlling, services, following]);
    } finally {
      signal.removeEventListener('abort', forward);
      stop.abort(signal.reason);
      await lastWork;
      await Promise.allSettled([agentRun, controlling, services, serving]);
      await socket?.close();
    }
  } finally {
    api.endWatches();
    await listener.close();
  }

  async function announce(
    open: ServerListener,
    { caPem, owner }: NodeAuthority,
    { onServing }: BareNodeOptions,
  ): Promise<void> {
    const server = `https://${address}:${open.address()?.port ?? options.port}`;
    const kubeconfigFile = path.join(stateDir, 'kubeconfig');
    const kubeconfig = kubeconfigText(ownerKubeconfig(server, { caPem, owner }));
    const durable = recordedDurableFiles({
      files: linuxHost().files,
      clock,
      timeline,
      nodeName: options.nodeName,
    });
    await durable.write(kubeconfigFile, kubeconfig, { mode: 0o600, directoryMode: 0o700 });
    const ours = ownerKubeconfig(server, { caPem, owner });
    await options.mergeKubeconfig?.((existing) => mergedKubeconfig(existing, ours));
    onServing({ server, kubeconfigFile });
  }
}

/** The API in the same process: there is no connection that could break, and no certificate of a client. */
function inProcess(api: LocalKubeApi): OpenCluster {
  return {
    apis: { main: api, heartbeat: api, events: api, resetConnections: () => undefined },
    signer: () => api,
    watchIdentity: () => new Promise(() => undefined),
    close: () => undefined,
  };
}

function servingNames(
  { nodeName, address, clusterDomain }: BareNodeOptions,
  apiServiceIp: string,
): {
  dnsNames: string[];
  ipAddresses: string[];
} {
  return {
    dnsNames: [
      'localhost',
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
      `kubernetes.default.svc.${clusterDomain}`,
      nodeName.toLowerCase(),
    ],
    ipAddresses: [...new Set(['127.0.0.1', '::1', address, apiServiceIp])],
  };
}
