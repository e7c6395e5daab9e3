/** The agent's listeners: each listens only when the configuration names its port. */
import path from 'node:path';
import { systemClock } from '../async/index.js';
import { type LoadedConfiguration, shownFlags } from '../config/index.js';
import type { KubeApi } from '../kube-client/index.js';
import type { Kubelet } from '../kubelet/index.js';
import type { ServingCertificate } from '../node/index.js';
import type { StatsProvider } from '../resources/stats/index.js';
import { type ServerListener, startHealthz, startReadOnly } from '../server/index.js';
import { describeError, type Timeline } from '../timeline/index.js';
import type { Tracer } from '../tracing/index.js';
import { StartFailure } from './start-failure.js';
import { kubernetesVersion } from './version.js';

export interface ListenerOptions {
  readonly configuration: LoadedConfiguration;
  readonly timeline: Timeline;
  readonly stats: StatsProvider;
  readonly flushLog: () => Promise<void>;
  readonly tracer: Tracer;
}

export interface MainPortOptions extends ListenerOptions {
  /** Whom callers are checked with; undefined without a cluster. */
  readonly api: KubeApi | undefined;
  readonly serving: ServingCertificate;
  readonly setVerbosity: (verbosity: number) => void;
}

/** A node without a cluster serves its main port only when the configuration asks for it by name. */
export function servesMainPort({ config, standalone, explicit }: LoadedConfiguration): boolean {
  return config.enableServer && (!standalone || explicit.has('port') || explicit.has('enableServer'));
}

/** The read-only port and the health port. */
export async function startListeners(given: Kubelet, shared: ListenerOptions): Promise<ServerListener[]> {
  const { configuration, timeline, stats, flushLog, tracer } = shared;
  const { address, readOnlyPort, healthzBindAddress, healthzPort } = configuration.config;
  const listeners: ServerListener[] = [];
  if (readOnlyPort > 0) {
    const kubelet = { ...given, stats };
    const options = { address, port: readOnlyPort, timeline, version: kubernetesVersion, flushLog, tracer };
    listeners.push(await taken('readOnlyPort', options, () => startReadOnly(kubelet, options)));
  }
  if (healthzPort > 0) {
    listeners.push(await startHealthz(given, { address: healthzBindAddress, port: healthzPort, timeline }));
  }
  return listeners;
}

export async function startMainPort(kubelet: Kubelet, options: MainPortOptions): Promise<ServerListener> {
  const { configuration, timeline, stats, api, serving, setVerbosity, flushLog, tracer } = options;
  const { config, featureGates: gates, flags } = configuration;
  const { startKubeletApi } = await import('../server/main/kubelet-api.js');
  return await taken('port', config, () =>
    startKubeletApi(
      { ...kubelet, stats },
      {
        config,
        publishedConfig: configuration.publishedConfig,
        gates,
        timeline,
        clock: systemClock,
        servingCertificate: () => serving.current,
        api,
        rootDir: path.resolve(flags.rootDir),
        version: kubernetesVersion,
        flags: shownFlags(flags, configuration.publishedConfig),
        setVerbosity,
        flushLog,
        tracer,
      },
    ),
  );
}

async function taken(
  field: 'port' | 'readOnlyPort',
  { address, port }: { readonly address: string; readonly port: number },
  start: () => Promise<ServerListener>,
): Promise<ServerListener> {
  try {
    return await start();
  } catch (error) {
    const orNone = field === 'readOnlyPort' ? ' or 0' : '';
    throw new StartFailure(
      isOfAddress(error)
        ? `cannot listen on ${address}:${port}: ${describeError(error)}; free it, or set ${field} to another port${orNone}`
        : `cannot serve on ${address}:${port}: ${describeError(error)}`,
      { cause: error },
    );
  }
}

/** Whether the address or the port is the problem, rather than what is served there. */
function isOfAddress(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('syscall' in error && error.syscall === 'listen') || isOfAddress(error.cause);
}
