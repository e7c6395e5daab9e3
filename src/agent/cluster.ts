/** The agent's place in a cluster: its identity, its API clients, and the certificate that it serves with. */
import path from 'node:path';
import { asError, errorText, systemClock, type TaskGroup } from '../async/index.js';
import type { KubeletConfiguration, LoadedConfiguration } from '../config/index.js';
import { linuxHost } from '../host/index.js';
import {
  type ClusterAccess,
  type Credentials,
  connectKubeApi,
  createApiRequestMetrics,
  type KubeApi,
  type KubeConnection,
  KubeconfigError,
} from '../kube-client/index.js';
import type { ClusterApis } from '../kubelet/cluster/create-cluster-kubelet.js';
import type { Registry } from '../metrics/index.js';
import {
  createClientCertificateMetrics,
  createServingCertificateMetrics,
  followCertificate,
  kubernetesArchitecture,
  openClientAccess,
  openServingCertificate,
  type ServingCertificate,
  SignedServingCertificate,
  watchClientCertificate,
} from '../node/index.js';
import { eventRate } from '../pods/events/index.js';
import type { Timeline } from '../timeline/index.js';
import type { Tracer } from '../tracing/index.js';
import { StartFailure } from './start-failure.js';
import { kubernetesVersion, version } from './version.js';

export interface ClusterSettings {
  readonly configuration: LoadedConfiguration;
  readonly nodeName: string;
  readonly timeline: Timeline;
  readonly registry: Registry;
  readonly tracer: Tracer;
}

export interface OpenCluster {
  readonly apis: ClusterApis;
  /** For certificates that the cluster signs. */
  readonly signer: () => KubeApi;
  /** Keeps the client certificate up to date. Resolves only when the agent cannot go on with the identity that it has. */
  watchIdentity(tasks: TaskGroup): Promise<Error>;
  close(): void;
}

/** Rejects when there is no usable way to an API server; one that is only away is no reason. */
export async function openCluster(settings: ClusterSettings, signal: AbortSignal): Promise<OpenCluster> {
  const { configuration, nodeName, timeline, registry, tracer } = settings;
  const { flags, config, featureGates } = configuration;
  const connections: KubeConnection[] = [];
  const requestMetrics = createApiRequestMetrics(registry);
  const connect = (access: ClusterAccess, credentials?: Credentials): KubeConnection => {
    const connection = connectKubeApi({
      clock: systemClock,
      access,
      // The first word is whom the API names as the owner of what is written: that must not change with the agent.
      userAgent: `kubelet/${kubernetesVersion} (linux/${kubernetesArchitecture(process.arch)}) nodelet/${version}`,
      metrics: requestMetrics,
      tracer,
      streamsLists: featureGates.enabled('WatchListClient'),
      onProblem: (message) => timeline.record({ kind: 'problem', what: 'api.connection', message }),
      ...(credentials === undefined ? {} : { credentials }),
    });
    connections.push(connection);
    return connection;
  };
  const close = (): void => {
    for (const connection of connections.splice(0)) connection.close();
  };
  // A certificate that nobody renews here has no metrics.
  const isRenewed = config.rotateCertificates || flags.bootstrapKubeconfig !== '';
  const certificateMetrics = createClientCertificateMetrics(isRenewed ? registry : undefined);
  const askers = new Map<ClusterAccess, KubeApi>();
  try {
    const { access, credentials, manager } = await openClientAccess(
      {
        files: linuxHost().files,
        clock: systemClock,
        timeline,
        random: Math.random,
        nodeName,
        certDir: path.resolve(flags.certDir),
        kubeconfigPath: path.resolve(flags.kubeconfig),
        bootstrapKubeconfigPath:
          flags.bootstrapKubeconfig === '' ? '' : path.resolve(flags.bootstrapKubeconfig),
        rotateCertificates: config.rotateCertificates,
        // Asked for once for each certificate: the same one is given, its connections are kept.
        openApi: (asking, given) => {
          if (given !== undefined) return apis.main;
          const known = askers.get(asking) ?? connect(asking).client();
          askers.set(asking, known);
          return known;
        },
        metrics: certificateMetrics,
      },
      signal,
    );
    if (manager !== undefined) followCertificate(registry, certificateMetrics, manager);
    const connection = connect(access, credentials);
    const events = eventRate(config);
    const apis: ClusterApis = {
      main: connection.client({
        rate: callRate(config),
      }),
      heartbeat: connection.client({
        timeoutMs: Math.min(config.nodeStatusUpdateFrequency, config.nodeLeaseDurationSeconds * 1000),
      }),
      events: connection.client(events === undefined ? {} : { rate: events }),
      resetConnections: () => connection.resetConnections(),
    };
    const watchIdentity = (tasks: TaskGroup): Promise<Error> =>
      new Promise((lose) => {
        if (manager === undefined) return;
        tasks.start('the client certificate', (stop) => manager.run(stop));
        tasks.start('the watch over the client certificate', async (stop) => {
          try {
            const { resetConnections } = apis;
            await watchClientCertificate({ clock: systemClock, timeline, manager, resetConnections }, stop);
          } catch (error) {
            if (!stop.aborted) lose(asError(error));
            throw error;
          }
        });
      });
    return { apis, signer: () => apis.main, watchIdentity, close };
  } catch (error) {
    close();
    throw new StartFailure(accessProblem(flags, error), { cause: error });
  }
}

/** Why the agent cannot join its cluster, and what to do about it, in one line. */
function accessProblem(
  flags: Pick<LoadedConfiguration['flags'], 'kubeconfig' | 'bootstrapKubeconfig'>,
  error: unknown,
): string {
  const isOfFile = [error, asError(error).cause].some((one) => one instanceof KubeconfigError);
  return isOfFile || flags.bootstrapKubeconfig === ''
    ? `--kubeconfig ${flags.kubeconfig}: ${errorText(error)}; correct the file, or leave the flag out to run without an API server`
    : `--bootstrap-kubeconfig ${flags.bootstrapKubeconfig}: no client certificate: ${errorText(error)}; see to it that the cluster signs the request, and start the agent again`;
}

/** The certificate of the main port; one that the cluster signs follows the node's addresses. */
export async function openServing(
  { configuration, nodeName, timeline, registry }: ClusterSettings,
  cluster: OpenCluster | undefined,
): Promise<ServingCertificate> {
  const { flags, config, featureGates } = configuration;
  const isSigned = config.serverTLSBootstrap && cluster !== undefined;
  const metrics = createServingCertificateMetrics(isSigned ? registry : undefined);
  const serving = await openServingCertificate({
    files: linuxHost().files,
    clock: systemClock,
    timeline,
    random: Math.random,
    nodeName,
    certDir: path.resolve(flags.certDir),
    certificateFile: config.tlsCertFile,
    keyFile: config.tlsPrivateKeyFile,
    reloads: featureGates.enabled('ReloadKubeletServerCertificateFile'),
    namesAlone: featureGates.enabled('AllowDNSOnlyNodeCSR'),
    metrics,
    ...(isSigned ? { signer: cluster.signer } : {}),
  });
  if (serving instanceof SignedServingCertificate) followCertificate(registry, metrics, serving.manager);
  return serving;
}

/** A rate or burst of 0 means the client's default. */
function callRate({ kubeAPIQPS: qps, kubeAPIBurst: burst }: KubeletConfiguration): {
  readonly qps: number;
  readonly burst: number;
} {
  return { qps: qps > 0 ? qps : 5, burst: burst > 0 ? burst : 10 };
}
