/** `nodelet agent`: the node's agent under the reference kubelet's flags. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { errorText, systemClock, TaskGroup } from '../async/index.js';
import {
  ConfigurationError,
  type KubeletConfiguration,
  type LoadedConfiguration,
  loadConfiguration,
  usage,
} from '../config/index.js';
import { type CriClient, checkedCri } from '../cri/index.js';
import {
  createKubelet,
  createMetrics,
  type Kubelet,
  type KubeletMetrics,
  readCgroupDriver,
} from '../kubelet/index.js';
import { Registry } from '../metrics/index.js';
import { ObjectFolder, StandaloneObjects } from '../pods/index.js';
import { type HostFacts, readHostFacts } from '../runtime/config/index.js';
import { containerdEvents, criEvents } from '../runtime/pleg/index.js';
import { type Listener, startHealthz, startReadOnly } from '../server/index.js';
import {
  type DiskRing,
  describeError,
  type Entry,
  logReader,
  openDiskRing,
  Timeline,
} from '../timeline/index.js';
import {
  announce,
  chooseNodeName,
  connectRuntime,
  hostAddresses,
  readWatchdog,
  refuseImpossible,
  setOomScore,
  validateRuntime,
} from './agent-start.js';
import { batchedWriter } from './log-writer.js';
import { notifySystemd } from './sd-notify.js';
import { catchSignals, type Signals } from './signals.js';
import { StartFailure } from './start-failure.js';
import { kubernetesVersion } from './version.js';
import { runWatchdog } from './watchdog.js';

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
  const timeline = loggedTimeline(config);
  const ring = keepOnDisk(timeline, path.join(path.resolve(flags.rootDir), 'timeline'));
  announce(loaded, timeline);
  await setOomScore(config.oomScoreAdj, timeline);
  const registry = new Registry();
  const metrics = createMetrics(registry, nodeName);
  const signals = catchSignals(timeline);
  const runtime = connectRuntime(config, loaded.featureGates, metrics);
  try {
    const validated = validateRuntime(runtime, config.containerRuntimeEndpoint, timeline);
    if ((await Promise.race([validated, signals.received])) === 'signal') return 0;
    return await runWith(runtime, {
      loaded,
      host,
      nodeName,
      timeline,
      registry,
      metrics,
      signals,
      watchdogMs,
    });
  } finally {
    await runtime.close();
    signals.release();
    ring.close();
  }
}

function loggedTimeline(config: KubeletConfiguration): Timeline {
  const timeline = new Timeline();
  const log = logReader({
    format: config.logging.format === 'json' ? 'json' : 'text',
    verbosity: config.logging.verbosity,
    write: batchedWriter((text) => void process.stderr.write(text)),
  });
  let stopping = false;
  timeline.subscribe((entry) => {
    if (entry.what === 'agent.stop') stopping = true;
    // What was under way when the agent was told to stop has not failed; the next start goes on with it.
    if (!stopping || !isCancellation(entry)) log(entry);
  });
  return timeline;
}

/** Keeps what happens where `nodelet explain` finds it, also after a crash. */
function keepOnDisk(timeline: Timeline, dir: string): DiskRing {
  const ring = openDiskRing({
    dir,
    onError: (error) =>
      timeline.record({
        kind: 'problem',
        what: 'timeline.disk',
        message: `the timeline cannot be kept in ${dir}; nodelet explain will not know this run`,
        level: 'warn',
        error,
      }),
  });
  timeline.subscribe(ring.reader);
  return ring;
}

function isCancellation(entry: Entry): boolean {
  return `${entry.error ?? ''} ${entry.message}`.includes('context canceled');
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
}

async function runWith(runtime: CriClient, parts: AgentParts): Promise<number> {
  const { loaded, host, nodeName, timeline, registry, metrics, signals, watchdogMs } = parts;
  const { config, flags } = loaded;
  const checked = checkedCri(runtime, {
    requestTimeoutMs: config.runtimeRequestTimeout,
    clock: systemClock,
    onCall: metrics.criCall,
  });
  const cgroupDriver = await readCgroupDriver(checked, config.cgroupDriver, timeline, metrics);
  const objects =
    flags.objectManifestPath === '' ? undefined : new StandaloneObjects({ clock: systemClock, waits: true });
  const kubelet = await createKubelet({
    nodeName,
    runtime,
    config: { ...config, cgroupDriver },
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
    ...(objects === undefined ? {} : { objects, claims: objects }),
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
    eventSources: [criEvents, () => containerdEvents(config.containerRuntimeEndpoint)],
  });

  const tasks = new TaskGroup({
    onError: (task, error) =>
      timeline.record({ kind: 'problem', what: 'agent.task', message: `${task} failed`, error }),
  });
  const listeners = await startListeners(kubelet, config, timeline);
  try {
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
    const outcome = await Promise.race([failed, signals.received]);
    if (outcome instanceof Error) throw new StartFailure(describeError(outcome), { cause: outcome });
    return 0;
  } finally {
    await tasks.stop();
    await Promise.all(listeners.map((listener) => listener.close()));
    await kubelet.stop();
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
      listeners.push(
        await startReadOnly(kubelet, { address, port: readOnlyPort, timeline, version: kubernetesVersion }),
      );
    } catch (error) {
      throw new StartFailure(
        `cannot listen on ${address}:${readOnlyPort}: ${describeError(error)}; free it, or set readOnlyPort to another port or 0`,
        { cause: error },
      );
    }
  }
  if (healthzPort > 0) {
    listeners.push(await startHealthz(kubelet, { address: healthzBindAddress, port: healthzPort, timeline }));
  }
  return listeners;
}
