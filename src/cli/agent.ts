/** `nodelet agent`: the node's agent under the reference kubelet's flags. */

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { systemClock, TaskGroup } from '../async/index.js';
import {
  ConfigurationError,
  inertSettings,
  type KubeletConfiguration,
  type LoadedConfiguration,
  loadConfiguration,
  usage,
} from '../config/index.js';
import { type CriClient, connectCri } from '../cri/index.js';
import {
  actedOnFields,
  createKubelet,
  createMetrics,
  type Kubelet,
  type KubeletMetrics,
  readCgroupDriver,
} from '../kubelet/index.js';
import { Registry } from '../metrics/index.js';
import { type HostFacts, readHostFacts } from '../runtime/config/index.js';
import { containerdEvents, criEvents } from '../runtime/pleg/index.js';
import { type Listener, startHealthz, startReadOnly } from '../server/index.js';
import { describeError, type Entry, logReader, Timeline } from '../timeline/index.js';
import { notifySystemd } from './sd-notify.js';
import { StartFailure } from './start-failure.js';
import { kubernetesVersion } from './version.js';
import { runWatchdog, watchdogPeriodMs } from './watchdog.js';

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
        return await serve(loaded, host);
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

async function serve(loaded: LoadedConfiguration, host: HostFacts): Promise<number> {
  const { flags, config } = loaded;
  if (!loaded.standalone) {
    throw new StartFailure(
      `--kubeconfig ${flags.kubeconfig}: this build runs without an API server; leave the flag out and give pods by staticPodPath or staticPodURL`,
    );
  }
  const timeline = new Timeline();
  const log = logReader({
    format: config.logging.format === 'json' ? 'json' : 'text',
    verbosity: config.logging.verbosity,
    write: (line) => void process.stderr.write(line),
  });
  let stopping = false;
  timeline.subscribe((entry) => {
    if (entry.what === 'agent.stop') stopping = true;
    // What was under way when the agent was told to stop has not failed; the next start goes on with it.
    if (!stopping || !isCancellation(entry)) log(entry);
  });
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

  if (host.swapCapacityBytes > 0 && config.failSwapOn) {
    throw new StartFailure(
      'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false',
    );
  }
  await setOomScore(config.oomScoreAdj, timeline);
  const nodeName = (flags.hostnameOverride || hostname()).trim().toLowerCase();
  if (nodeName === '')
    throw new StartFailure('this machine has no host name; give one with --hostname-override');
  const registry = new Registry();
  const metrics = createMetrics(registry, nodeName);
  const runtime = connect(config, metrics);
  try {
    return await runWith(runtime, { loaded, host, nodeName, timeline, registry, metrics });
  } finally {
    await runtime.close();
  }
}

interface AgentParts {
  readonly loaded: LoadedConfiguration;
  readonly host: HostFacts;
  readonly nodeName: string;
  readonly timeline: Timeline;
  readonly registry: Registry;
  readonly metrics: KubeletMetrics;
}

async function runWith(runtime: CriClient, parts: AgentParts): Promise<number> {
  const { loaded, host, nodeName, timeline, registry, metrics } = parts;
  const { config, flags } = loaded;
  const watchdogMs = watchdogPeriodMs(process.env, process.pid);
  await validateRuntime(runtime, config.containerRuntimeEndpoint);
  const cgroupDriver = await readCgroupDriver(runtime, config.cgroupDriver, timeline);
  const kubelet = await createKubelet({
    nodeName,
    runtime,
    config: { ...config, cgroupDriver },
    gates: loaded.featureGates,
    rootDir: flags.rootDir,
    nodeIps: flags.nodeIp === '' ? [] : flags.nodeIp.split(','),
    host,
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

  const tasks = new TaskGroup({
    onError: (task, error) =>
      timeline.record({ kind: 'problem', what: 'agent.task', message: `${task} failed`, error }),
  });
  const signals = catchSignals(timeline);
  const listeners = await startListeners(kubelet, config, timeline);
  try {
    const failed = kubelet.start();
    const notify = (state: string): Promise<void> => notifySystemd(state, process.env);
    await notify('READY=1').catch((error: unknown) =>
      timeline.record({
        kind: 'problem',
        what: 'agent.notify',
        message: 'systemd could not be told that the agent is ready',
        level: 'warn',
        error,
      }),
    );
    if (watchdogMs !== undefined) {
      const watched = {
        clock: systemClock,
        timeline,
        periodMs: watchdogMs,
        checks: kubelet.healthChecks,
        notify,
      };
      tasks.start('the watchdog', (signal) => runWatchdog(watched, signal));
    }
    const outcome = await Promise.race([failed, signals.received]);
    if (outcome instanceof Error) throw outcome;
    return 0;
  } finally {
    await tasks.stop();
    await Promise.all(listeners.map((listener) => listener.close()));
    await kubelet.stop();
    signals.release();
  }
}

function connect(config: KubeletConfiguration, metrics: KubeletMetrics): CriClient {
  const { containerRuntimeEndpoint: endpoint, imageServiceEndpoint, runtimeRequestTimeout } = config;
  try {
    return connectCri({
      endpoint,
      imageEndpoint: imageServiceEndpoint || endpoint,
      requestTimeoutMs: runtimeRequestTimeout,
      onCall: metrics.criCall,
    });
  } catch (error) {
    throw new StartFailure(
      `cannot use the container runtime at ${endpoint}: ${describeError(error)}; name a socket, such as unix:///run/containerd/containerd.sock, with --container-runtime-endpoint`,
      { cause: error },
    );
  }
}

function isCancellation(entry: Entry): boolean {
  return `${entry.error ?? ''} ${entry.message}`.includes('context canceled');
}

async function validateRuntime(runtime: CriClient, endpoint: string): Promise<void> {
  try {
    await runtime.validate();
  } catch (error) {
    throw new StartFailure(
      `cannot use the container runtime at ${endpoint}: ${describeError(error)}; start it, or name another one with --container-runtime-endpoint`,
      { cause: error },
    );
  }
}

async function startListeners(
  kubelet: Kubelet,
  config: KubeletConfiguration,
  timeline: Timeline,
): Promise<Listener[]> {
  const listeners: Listener[] = [];
  const { address, readOnlyPort, healthzBindAddress, healthzPort } = config;
  if (readOnlyPort > 0) {
    try {
      listeners.push(await startReadOnly(kubelet, { address, port: readOnlyPort, timeline }));
    } catch (error) {
      throw new StartFailure(
        `cannot listen on ${address}:${readOnlyPort}: ${describeError(error)}; free it, or set readOnlyPort to another port or 0`,
        {
          cause: error,
        },
      );
    }
  }
  if (healthzPort > 0) {
    listeners.push(await startHealthz(kubelet, { address: healthzBindAddress, port: healthzPort, timeline }));
  }
  return listeners;
}

/** The first signal asks for an orderly end, a second one ends at once. */
function catchSignals(timeline: Timeline): { readonly received: Promise<'signal'>; release(): void } {
  let seen = 0;
  let receive: (outcome: 'signal') => void = () => {};
  const received = new Promise<'signal'>((resolve) => {
    receive = resolve;
  });
  const onSignal = (signal: NodeJS.Signals): void => {
    if (++seen > 1) process.exit(1);
    timeline.record({
      kind: 'notice',
      what: 'agent.stop',
      message: `received ${signal}, stopping; containers keep running`,
    });
    receive('signal');
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return { received, release: () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal) };
}

/** Lets the kernel spare the agent when memory runs out; failing to is only worth a note. */
async function setOomScore(adj: number, timeline: Timeline): Promise<void> {
  try {
    await writeFile('/proc/self/oom_score_adj', String(adj));
  } catch (error) {
    timeline.record({
      kind: 'problem',
      what: 'agent.oom',
      message: `own oom_score_adj could not be set to ${adj}`,
      level: 'debug',
      error,
    });
  }
}
