/** `nodelet agent`: the node's agent under the reference kubelet's flags. */
import { readdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import {
  ConfigurationError,
  inertSettings,
  type LoadedConfiguration,
  loadConfiguration,
  usage,
} from '../config/index.js';
import { type CriClient, connectCri } from '../cri/index.js';
import { actedOnFields, createKubelet, createMetrics, readCgroupDriver } from '../kubelet/index.js';
import { Registry } from '../metrics/index.js';
import { readHostFacts } from '../runtime/config/index.js';
import { containerdEvents, criEvents } from '../runtime/pleg/index.js';
import { startHealthz, startReadOnly } from '../server/index.js';
import { logReader, Timeline } from '../timeline/index.js';
import { notifySystemd } from './sd-notify.js';
import { kubernetesVersion } from './version.js';

/** Flags that are accepted but do nothing in this build, when they are given a value. */
const inertFlags = [
  'lockFile',
  'imageCredentialProviderConfig',
  'runtimeCgroups',
  'nodeLabels',
  'cloudProvider',
] as const;

export async function runAgent(argv: readonly string[]): Promise<number> {
  try {
    const host = await readHostFacts();
    const loaded = await loadConfiguration({
      argv,
      cwd: process.cwd(),
      host: { cgroupVersion: host.cgroupVersion },
      readFile: (path) => readFile(path, 'utf8'),
      listDir: async (path) =>
        (await readdir(path, { withFileTypes: true })).map((entry) => ({
          name: entry.name,
          isDirectory: entry.isDirectory(),
        })),
    });
    switch (loaded.kind) {
      case 'help':
        process.stdout.write(usage({ command: 'nodelet agent' }));
        return 0;
      case 'version':
        process.stdout.write(
          loaded.raw
            ? `${JSON.stringify({ gitVersion: kubernetesVersion })}\n`
            : `Kubernetes ${kubernetesVersion}\n`,
        );
        return 0;
      case 'run':
        return await serve(loaded);
    }
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    process.stderr.write(`nodelet agent: ${text}\n`);
    if (error instanceof ConfigurationError && error.hint !== undefined)
      process.stderr.write(`${error.hint}\n`);
    if (
      !(error instanceof ConfigurationError) &&
      !(error instanceof StartFailure) &&
      error instanceof Error
    ) {
      process.stderr.write(`${error.stack ?? ''}\n`);
    }
    return 1;
  }
}

/** A start that cannot go on, with what to do about it. */
class StartFailure extends Error {}

async function serve(loaded: LoadedConfiguration): Promise<number> {
  const { flags, config } = loaded;
  if (!loaded.standalone) {
    throw new StartFailure(
      `--kubeconfig ${flags.kubeconfig}: this build runs without an API server; leave the flag out and give pods by staticPodPath or staticPodURL`,
    );
  }
  const timeline = new Timeline();
  timeline.subscribe(
    logReader({
      format: config.logging.format === 'json' ? 'json' : 'text',
      verbosity: config.logging.verbosity,
      write: (line) => void process.stderr.write(line),
    }),
  );
  const notice = (what: string, message: string, level: 'info' | 'warn' = 'info'): void =>
    void timeline.record({ kind: 'notice', what, message, level });
  for (const warning of loaded.warnings) notice('config.warning', warning, 'warn');
  const inert = inertSettings(loaded.explicit, actedOnFields);
  const flagsGiven = inertFlags.filter((flag) => Object.keys(flags[flag]).length > 0);
  if (inert.line !== undefined || flagsGiven.length > 0) {
    notice(
      'config.inert',
      [inert.line, ...flagsGiven.map((flag) => `flag ${flag}`)].filter(Boolean).join(', '),
      'warn',
    );
  }

  const nodeName = (flags.hostnameOverride || hostname()).trim().toLowerCase();
  if (nodeName === '')
    throw new StartFailure('this machine has no host name; give one with --hostname-override');
  const registry = new Registry();
  const metrics = createMetrics(registry, nodeName);
  const runtime = connectCri({
    endpoint: config.containerRuntimeEndpoint,
    imageEndpoint: config.imageServiceEndpoint || config.containerRuntimeEndpoint,
    requestTimeoutMs: config.runtimeRequestTimeout,
    onCall: metrics.criCall,
  });
  try {
    return await runWith(runtime, { loaded, nodeName, timeline, registry, metrics, notice });
  } finally {
    await runtime.close();
  }
}

interface AgentParts {
  readonly loaded: LoadedConfiguration;
  readonly nodeName: string;
  readonly timeline: Timeline;
  readonly registry: Registry;
  readonly metrics: ReturnType<typeof createMetrics>;
  readonly notice: (what: string, message: string, level?: 'info' | 'warn') => void;
}

async function runWith(runtime: CriClient, parts: AgentParts): Promise<number> {
  const { loaded, nodeName, timeline, registry, metrics, notice } = parts;
  const { config, flags } = loaded;
  await runtime.validate().catch((error: unknown) => {
    throw new StartFailure(
      `cannot use the container runtime at ${config.containerRuntimeEndpoint}: ${error instanceof Error ? error.message : String(error)}; ` +
        'start it, or name another one with --container-runtime-endpoint',
      { cause: error },
    );
  });
  const cgroupDriver = await readCgroupDriver(runtime, config.cgroupDriver, timeline);
  const kubelet = await createKubelet({
    nodeName,
    runtime,
    config: { ...config, cgroupDriver },
    gates: loaded.featureGates,
    rootDir: flags.rootDir,
    nodeIps: flags.nodeIp === '' ? [] : flags.nodeIp.split(','),
    deadContainers: {
      minAgeMs: flags.minimumContainerTtlDurationMs,
      maxPerContainer: flags.maximumDeadContainersPerContainer,
      maxTotal: flags.maximumDeadContainers,
    },
    // Beside the pods' logs: /var/log/containers unless podLogsDir says otherwise.
    containerLogsDir: path.join(path.dirname(config.podLogsDir), 'containers'),
    timeline,
    registry,
    metrics,
    eventSources: [() => criEvents(runtime), () => containerdEvents(config.containerRuntimeEndpoint)],
  });

  const stopping = new AbortController();
  let signals = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    signals++;
    if (signals > 1) process.exit(1);
    notice('agent.stop', `received ${signal}, stopping; containers keep running`);
    stopping.abort();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    const failed = kubelet.start();
    const readOnly =
      config.readOnlyPort > 0
        ? await startReadOnly(kubelet, { address: config.address, port: config.readOnlyPort, timeline })
        : undefined;
    const healthz =
      config.healthzPort > 0
        ? await startHealthz(kubelet, {
            address: config.healthzBindAddress,
            port: config.healthzPort,
            timeline,
          })
        : undefined;
    await notifySystemd('READY=1', process.env).catch((error: unknown) =>
      timeline.record({
        kind: 'problem',
        what: 'agent.notify',
        message: 'systemd could not be told that the agent is ready',
        level: 'warn',
        error,
      }),
    );
    const stopped = new Promise<'stopped'>((resolve) =>
      stopping.signal.addEventListener('abort', () => resolve('stopped'), { once: true }),
    );
    const outcome = await Promise.race([failed, stopped]);
    await Promise.all([readOnly?.close(), healthz?.close()]);
    await kubelet.stop();
    if (outcome !== 'stopped') throw outcome;
    return 0;
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}
