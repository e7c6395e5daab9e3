/** `nodelet agent`: the node's agent under the reference kubelet's flags. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type AgentCgroups, type AgentCgroupsParts, agentCgroups } from '../agent/cgroups.js';
import type { OpenCluster } from '../agent/cluster.js';
import { servesMainPort, startListeners, startMainPort } from '../agent/listeners.js';
import { keepOnDisk, loggedTimeline } from '../agent/log.js';
import { agentModules } from '../agent/modules.js';
import { notifySystemd } from '../agent/sd-notify.js';
import { catchSignals, type Signals } from '../agent/signals.js';
import {
  announce,
  announceInsecure,
  chooseNodeName,
  connectRuntime,
  hostAddresses,
  readWatchdog,
  refuseImpossible,
  setOomScore,
  validateRuntime,
} from '../agent/start-checks.js';
import { StartFailure } from '../agent/start-failure.js';
import { agentStats } from '../agent/stats.js';
import { kubernetesVersion } from '../agent/version.js';
import { runWatchdog } from '../agent/watchdog.js';
import { errorText, systemClock, TaskGroup } from '../async/index.js';
import { ConfigurationError, type LoadedConfiguration, loadConfiguration, usage } from '../config/index.js';
import { type CriClient, checkedCri } from '../cri/index.js';
import {
  createKubelet,
  createMetrics,
  type Kubelet,
  type KubeletMetrics,
  type KubeletOptions,
  readCgroupDriver,
} from '../kubelet/index.js';
import { Registry, registerProcessMetrics } from '../metrics/index.js';
import type { ServingCertificate } from '../node/index.js';
import { ObjectFolder, StandaloneObjects } from '../pods/index.js';
import { type HostFacts, readHostFacts } from '../runtime-manager/config/index.js';
import { containerdEvents, criEvents } from '../runtime-manager/pleg/index.js';
import type { Listener } from '../server/index.js';
import { describeError, type Timeline } from '../timeline/index.js';

export async function runAgent(argv: readonly string[]): Promise<number> {
  try {
    const host = await readHostFacts();
    const loaded = await loadConfiguration({
      argv,
      cwd: process.cwd(),
      host: { cgroupVersion: host.cgroupVersion },
      readFile: (file) => readFile(file, 'utf8'),
      listDir: async (folder) =>
        (await readdir(folder, { withFileTypes: true })).map((entry) => ({
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
    process.stderr.write(`nodelet agent: ${errorText(error)}\n`);
    if (error instanceof ConfigurationError) {
      if (error.hint !== undefined) process.stderr.write(`${error.hint}\n`);
    } else if (!(error instanceof StartFailure) && error instanceof Error) {
      process.stderr.write(`${error.stack ?? ''}\n`);
    }
    return 1;
  }
}

async function serve(loaded: LoadedConfiguration, host: HostFacts): Promise<number> {
  const { flags, config } = loaded;
  refuseImpossible(loaded, host);
  const nodeName = chooseNodeName(flags.hostnameOverride);
  const watchdogMs = readWatchdog();
  const { timeline, setVerbosity, flush, close } = loggedTimeline(config);
  const ring = keepOnDisk(timeline, path.join(path.resolve(flags.rootDir), 'timeline'));
  announce(loaded, timeline);
  await announceInsecure(loaded, servesMainPort(loaded), timeline);
  await setOomScore(config.oomScoreAdj, timeline);
  const registry = new Registry();
  registerProcessMetrics(registry);
  const metrics = createMetrics(registry, nodeName);
  const signals = catchSignals(timeline);
  const parts: AgentParts = {
    loaded,
    host,
    nodeName,
    timeline,
    registry,
    metrics,
    signals,
    watchdogMs,
    setVerbosity,
    flushLog: flush,
  };
  try {
    const cluster = loaded.standalone ? undefined : await enterCluster(parts);
    if (cluster === 'signal') return 0;
    try {
      return await runWith(parts, cluster);
    } finally {
      cluster?.close();
    }
  } finally {
    signals.release();
    await ring.close();
    await close();
  }
}

interface AgentParts {
  readonly loaded: LoadedConfiguration;
  readonly host: HostFacts;
  readonly nodeName: string;
  readonly timeline: Timeline;
  readonly registry: Registry;
  readonly metrics: KubeletMetrics;
  readonly signals: Signals;
  readonly watchdogMs: number | undefined;
  /** Changes how much is logged from now on. */
  readonly setVerbosity: (verbosity: number) => void;
  readonly flushLog: () => Promise<void>;
}

async function runWith(parts: AgentParts, cluster: OpenCluster | undefined): Promise<number> {
  const { loaded, timeline, metrics, signals } = parts;
  const { config } = loaded;
  const runtime = connectRuntime(config, loaded.featureGates, metrics);
  try {
    const validated = validateRuntime(runtime, config.containerRuntimeEndpoint, timeline);
    if ((await Promise.race([validated, signals.received])) === 'signal') return 0;
    return await runNode(runtime, parts, cluster);
  } finally {
    await runtime.close();
  }
}

async function runNode(
  runtime: CriClient,
  parts: AgentParts,
  cluster: OpenCluster | undefined,
): Promise<number> {
  const { loaded, timeline, metrics, signals, watchdogMs } = parts;
  const { config, flags } = loaded;
  const checked = checkedCri(runtime, {
    requestTimeoutMs: config.runtimeRequestTimeout,
    clock: systemClock,
    onCall: metrics.criCall,
  });
  const cgroupDriver = await readCgroupDriver(checked, config.cgroupDriver, timeline, metrics);
  const cgroups = openCgroups({ ...parts, cgroupDriver });
  const objects =
    flags.objectManifestPath === '' ? undefined : new StandaloneObjects({ clock: systemClock, waits: true });
  const machineOptions = await kubeletOptions(runtime, parts);
  const options: KubeletOptions = {
    ...machineOptions,
    config: { ...config, cgroupDriver },
    ...(cgroups === undefined
      ? {}
      : { cgroups: cgroups.pods, modules: { ...machineOptions.modules, ...cgroups.modules } }),
    ...(objects === undefined ? {} : { objects, claims: objects }),
  };
  const tasks = new TaskGroup({
    onError: (task, error) =>
      timeline.record({ kind: 'problem', what: 'agent.task', message: `${task} failed`, error }),
  });
  const serving = servesMainPort(loaded)
    ? await (await import('../agent/cluster.js')).openServing(parts, cluster)
    : undefined;
  const kubelet =
    cluster === undefined
      ? await createKubelet(options)
      : await clusterKubelet(options, parts, cluster, serving);
  const stats = agentStats(
    kubelet,
    {
      cri: checked,
      config,
      rootDir: options.rootDir,
      runtimeCgroups: flags.runtimeCgroups,
      cgroups: cgroups && { parentOf: (pod) => cgroups.pods.parentOf(pod), podsCgroup: cgroups.podsCgroup },
    },
    tasks,
  );
  const { setVerbosity, flushLog } = parts;
  const server = { loaded, timeline, stats, setVerbosity, flushLog };
  const listeners: Listener[] = [];
  try {
    if (serving !== undefined) {
      tasks.start('the serving certificate', (signal) => serving.run(signal));
      listeners.push(await startMainPort(kubelet, { ...server, api: cluster?.apis.main, serving }));
    }
    listeners.push(...(await startListeners(kubelet, server)));
    if (objects !== undefined) {
      const folder = new ObjectFolder({
        path: path.resolve(flags.objectManifestPath),
        clock: systemClock,
        timeline,
        objects,
        checkPeriodMs: config.fileCheckFrequency,
      });
      tasks.start('following the folder of objects', (signal) => folder.run(signal));
    }
    const failed = kubelet.start();
    const identityLost = cluster?.watchIdentity(tasks);
    const notify = (state: string): Promise<void> => notifySystemd(state, process.env);
    tasks.start('telling systemd that the agent is ready', () => notify('READY=1'));
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
    const outcome = await Promise.race([
      failed,
      signals.received,
      ...(identityLost === undefined ? [] : [identityLost]),
    ]);
    if (outcome instanceof Error) throw new StartFailure(describeError(outcome), { cause: outcome });
    return 0;
  } finally {
    await tasks.stop();
    await Promise.all(listeners.map((listener) => listener.close()));
    await kubelet.stop();
    await cgroups?.stop();
  }
}

function openCgroups(parts: AgentCgroupsParts): AgentCgroups | undefined {
  try {
    return agentCgroups(parts);
  } catch (error) {
    throw new StartFailure(describeError(error), { cause: error });
  }
}

/** What the command line and the machine say of the kubelet. */
async function kubeletOptions(
  runtime: CriClient,
  { loaded, host, nodeName, timeline, registry, metrics }: AgentParts,
): Promise<KubeletOptions> {
  const { config, flags } = loaded;
  return {
    nodeName,
    runtime,
    gates: loaded.featureGates,
    rootDir: path.resolve(flags.rootDir),
    nodeIps: flags.nodeIp === '' ? [] : flags.nodeIp.split(','),
    hostIps: await hostAddresses(flags.nodeIp),
    host,
    deadContainers: {
      minAgeMs: flags.minimumContainerTtlDurationMs,
      maxPerContainer: flags.maximumDeadContainersPerContainer,
      maxTotal: flags.maximumDeadContainers,
    },
    ...(flags.containerLogsDir === '' ? {} : { containerLogsDir: flags.containerLogsDir }),
    ...(flags.imageCredentialProviderConfig === ''
      ? {}
      : {
          credentialProviders: {
            configPath: flags.imageCredentialProviderConfig,
            binDir: flags.imageCredentialProviderBinDir,
          },
        }),
    timeline,
    registry,
    metrics,
    modules: agentModules(loaded, { nodeName, timeline }),
    eventSources: [criEvents, () => containerdEvents(config.containerRuntimeEndpoint)],
  };
}

/** A first certificate may take an hour to be signed; a signal ends the wait. */
async function enterCluster(parts: AgentParts): Promise<OpenCluster | 'signal'> {
  const { openCluster } = await import('../agent/cluster.js');
  const stop = new AbortController();
  const opening = openCluster(parts, stop.signal);
  const outcome = await Promise.race([opening, parts.signals.received]);
  if (outcome !== 'signal') return outcome;
  stop.abort();
  const opened = await opening.catch(() => undefined);
  opened?.close();
  return 'signal';
}

async function clusterKubelet(
  options: KubeletOptions,
  { loaded: { flags } }: AgentParts,
  { apis }: OpenCluster,
  serving: ServingCertificate | undefined,
): Promise<Kubelet> {
  const { createClusterKubelet } = await import('../kubelet/cluster.js');
  return await createClusterKubelet(options, {
    apis,
    kubeletVersion: flags.reportedVersion || kubernetesVersion,
    flags: {
      nodeLabels: flags.nodeLabels,
      nodeIp: flags.nodeIp,
      externalCloud: flags.cloudProvider === 'external',
      ignoreEvictionReservation: flags.experimentalAllocatableIgnoreEviction,
    },
    processStartMs: Date.now() - process.uptime() * 1000,
    onAddresses: (addresses) => serving?.setAddresses?.(addresses),
  });
}
